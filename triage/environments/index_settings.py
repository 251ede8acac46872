"""Which package indexes this person uses: the installer's own settings, else those of the other one, else the public default.

uv and pip read their own settings by themselves and ignore the other's, so those of the other are handed on as arguments.
Addresses may carry a login; `public` takes it out, and only that form may be shown or written.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from triage.environments.machine import output_of

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

PUBLIC_INDEX = "https://pypi.org/simple"


@dataclass(frozen=True)
class IndexSettings:
    """`default` and `extra` are simple indexes, `find_links` directories or pages with wheels. `source` is pip or uv."""

    default: str | None = PUBLIC_INDEX
    extra: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    cert: str | None = None
    source: str = "default"

    @property
    def indexes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.extra, *([self.default] if self.default else [])]))

    def uv_arguments(self) -> tuple[str, ...]:
        """What uv must be told, because it does not read pip's settings."""
        if self.source != "pip":
            return ()
        words = ["--default-index", self.default] if self.default else ["--no-index"]
        for url in self.extra if self.default else ():
            words += ["--index", url]
        for place in self.find_links:
            words += ["--find-links", place]
        return tuple(words)

    def pip_arguments(self) -> tuple[str, ...]:
        """What pip must be told, because it does not read uv's settings."""
        if self.source != "uv":
            return ()
        words = ["--index-url", self.default] if self.default else ["--no-index"]
        words += [word for url in self.extra for word in ("--extra-index-url", url)]
        words += [word for place in self.find_links for word in ("--find-links", place)]
        return tuple(words)


def find_settings(
    environ: Mapping[str, str] = os.environ, python: str = sys.executable, *, installer: str = "uv"
) -> IndexSettings:
    """The settings of this person for `installer` (uv, pip). `python` is an interpreter whose pip may be asked."""
    sources: list[Callable[[], IndexSettings | None]] = [
        lambda: from_uv(environ, _uv_tables(environ)),
        lambda: from_pip(_pip_config(python), environ),
    ]
    ordered = sources if installer == "uv" else sources[::-1]
    return next((found for source in ordered if (found := source()) is not None), IndexSettings())


def from_uv(environ: Mapping[str, str], tables: Sequence[Mapping[str, Any]]) -> IndexSettings | None:
    """Settings of uv: variables first, then its configuration files. None where they name no index."""
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL")
    extra = [*environ.get("UV_INDEX", "").split(), *environ.get("UV_EXTRA_INDEX_URL", "").split()]
    links = [word for word in environ.get("UV_FIND_LINKS", "").replace(",", " ").split() if word]
    for table in tables:
        for part in (table, table.get("pip") or {}):
            for index in part.get("index") or ():
                if index.get("default"):
                    default = default or index.get("url")
                elif not index.get("explicit"):
                    extra.append(index.get("url", ""))
            default = default or part.get("index-url")
            extra += part.get("extra-index-url") or ()
            links += part.get("find-links") or ()
    extra = [_unnamed(url) for url in extra if url]
    if not (default or extra or links):
        return None
    return IndexSettings(_unnamed(default) if default else PUBLIC_INDEX, tuple(extra), tuple(links), source="uv")


def from_pip(listing: str, environ: Mapping[str, str]) -> IndexSettings | None:
    """Settings of pip, from `pip config list` (a line is `global.index-url='...'`; variables are `:env:.index-url`)."""
    values: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        name, _, text = line.partition("=")
        scope, _, key = name.strip().rpartition(".")
        rank = {":env:": 3, "install": 2, "download": 1}.get(scope, 0)
        if scope in (":env:", "install", "global") and rank >= values.get(key, (0, ""))[0]:
            values[key] = (rank, _literal(text.strip()))
    for key in ("index-url", "extra-index-url", "find-links", "no-index", "cert"):  # where no pip could be asked
        variable = environ.get(f"PIP_{key.upper().replace('-', '_')}")
        if variable:
            values[key] = (3, variable)
    told = {key: text for key, (_, text) in values.items()}
    if not any(told.get(key) for key in ("index-url", "extra-index-url", "find-links", "no-index")):
        return None
    shut = told.get("no-index", "").lower() in ("1", "true", "yes", "on")
    return IndexSettings(
        default=None if shut else told.get("index-url") or PUBLIC_INDEX,
        extra=() if shut else tuple(told.get("extra-index-url", "").split()),
        find_links=tuple(told.get("find-links", "").split()),
        cert=told.get("cert"),
        source="pip",
    )


def public(url: str) -> str:
    """The address without login, query or fragment."""
    parts = urlsplit(url)
    if not parts.scheme:
        return url
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _unnamed(url: str) -> str:
    """An index may be written `name=https://...` for uv."""
    name, mark, rest = url.partition("=")
    return rest if mark and name.replace("-", "").replace("_", "").isalnum() and "://" in rest else url


def _literal(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return " ".join(str(value).split())


def _pip_config(python: str) -> str:
    """What `pip config list` says, of the first interpreter that has a pip; empty where none has."""
    for candidate in dict.fromkeys([python, sys.executable]):
        told = output_of((candidate, "-m", "pip", "--disable-pip-version-check", "config", "list"))
        if told is not None:
            return told
    return ""


def _uv_tables(environ: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The user's and the system's uv.toml. A project's own is not for us: it pins that project's torch."""
    named = environ.get("UV_CONFIG_FILE")
    home = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config")
    places = [Path(named)] if named else [home / "uv" / "uv.toml", Path("/etc/uv/uv.toml")]
    tables = []
    for place in places:
        try:
            tables.append(tomllib.loads(place.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return tables
