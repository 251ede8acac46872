"""Reading a package index: the wheels of one project, from PEP 691 JSON, PEP 503 HTML, or a directory of wheels.

A mirror may answer HTML to a request for JSON, so the answer itself decides how it is read. Sizes and dates are known where
the index tells them (PEP 700), or where it has PyPI's JSON API beside it.
"""

from __future__ import annotations

import json
import netrc
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from triage.environments.index_settings import IndexSettings, public

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
TIMEOUT_SECONDS = 20.0
LONGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class Wheel:
    """One wheel on an index. `size` is in bytes, `uploaded` an ISO date; None where the index does not tell."""

    filename: str
    version: Version
    tags: frozenset[Tag]
    requires_python: str | None = None
    size: int | None = None
    uploaded: str | None = None
    yanked: bool = False


class IndexUnreachableError(Exception):
    """An index did not answer, or not with anything that can be read. The text says which and why."""


def project_wheels(project: str, index: str, cert: str | None = None, patience: float = TIMEOUT_SECONDS) -> list[Wheel]:
    """The wheels of a project on one simple index; none where the index does not have it.

    `patience`: seconds that it may keep silent. Raises IndexUnreachableError.
    """
    page = f"{index.rstrip('/')}/{project}/"
    if urlsplit(index).scheme in ("", "file"):
        text = _local_page(page)
    else:
        text = fetch(page, cert, patience)
    if text is None:
        return []
    wheels = parse_page(text, page)
    if wheels and all(wheel.size is None for wheel in wheels) and index.rstrip("/").endswith("/simple"):
        wheels = _with_details(wheels, project, index, cert)
    return wheels


def linked_wheels(project: str, place: str, cert: str | None = None) -> list[Wheel]:
    """The wheels of a project in a directory, or on a page of links (pip's find-links). Raises IndexUnreachableError."""
    if urlsplit(place).scheme in ("http", "https"):
        return [wheel for wheel in parse_page(fetch(place, cert) or "", place) if _is_project(wheel.filename, project)]
    directory = Path(unquote(urlsplit(place).path) if place.startswith("file:") else place).expanduser()
    if not directory.is_dir():
        return []
    found = [path for path in sorted(directory.glob("*.whl")) if _is_project(path.name, project)]
    wheels = [_wheel(path.name, size=path.stat().st_size) for path in found]
    return [wheel for wheel in wheels if wheel is not None]


def all_wheels(project: str, settings: IndexSettings) -> tuple[list[Wheel], list[str]]:
    """(wheels, problems) of the configured indexes. A problem is one that could not be read, in words."""
    wheels: list[Wheel] = []
    problems: list[str] = []
    for index in settings.indexes:
        try:
            wheels += project_wheels(project, index, settings.cert)
        except IndexUnreachableError as error:
            problems.append(str(error))
    for place in settings.find_links:
        try:
            wheels += linked_wheels(project, place, settings.cert)
        except IndexUnreachableError as error:
            problems.append(str(error))
    return wheels, problems


def parse_page(text: str, page: str) -> list[Wheel]:
    """The wheels on a page, JSON or HTML; `page` is its address. What is not a wheel is left out."""
    if text.lstrip().startswith("{"):
        return _parse_json(text, page)
    reader = _Links()
    reader.feed(text)
    found = []
    for attributes in reader.links:
        wheel = _wheel(
            unquote(urlsplit(attributes.get("href", "")).path.rsplit("/", 1)[-1]),
            requires_python=attributes.get("data-requires-python"),
            uploaded=(attributes.get("data-upload-time") or "")[:10] or None,
            yanked="data-yanked" in attributes,
        )
        if wheel is not None:
            found.append(wheel)
    return found


def fetch(url: str, cert: str | None = None, patience: float = TIMEOUT_SECONDS) -> str | None:
    """The text at an address; None where there is none (404). Raises IndexUnreachableError."""
    request = urllib.request.Request(bare(url), headers={"Accept": ACCEPT, "User-Agent": "torch-triage", **_login(url)})
    try:
        with urllib.request.urlopen(request, timeout=patience, context=_tls(cert)) as answer:
            body: bytes = answer.read(LONGEST)
            return body.decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        if error.code in (404, 410):
            return None
        raise IndexUnreachableError(f"{public(url)} answered {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:  # URLError, timeouts, TLS, a broken address
        raise IndexUnreachableError(f"{public(url)}: {getattr(error, 'reason', None) or error}") from error


def exists(url: str, cert: str | None = None) -> int | None:
    """The size of the file at an address (0 where it is not told), None where there is none. Raises IndexUnreachableError."""
    request = urllib.request.Request(bare(url), method="HEAD", headers={"User-Agent": "torch-triage", **_login(url)})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=_tls(cert)) as answer:
            return int(answer.headers.get("Content-Length") or 0)
    except urllib.error.HTTPError as error:
        if error.code in (403, 404, 410):  # an object store answers 403 for what it does not have
            return None
        raise IndexUnreachableError(f"{public(url)} answered {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        raise IndexUnreachableError(f"{public(url)}: {getattr(error, 'reason', None) or error}") from error


def bare(url: str) -> str:
    """The address without its login, but with its query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links.append({name: value or "" for name, value in attrs})


def _parse_json(text: str, page: str) -> list[Wheel]:
    try:
        files: Sequence[Mapping[str, Any]] = json.loads(text)["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise IndexUnreachableError(f"{public(page)} answered JSON that is no list of files") from error
    wheels = [
        _wheel(
            str(file.get("filename", "")),
            requires_python=file.get("requires-python"),
            size=file.get("size"),
            uploaded=str(file.get("upload-time") or "")[:10] or None,
            yanked=bool(file.get("yanked")),
        )
        for file in files
    ]
    return [wheel for wheel in wheels if wheel is not None]


def _wheel(filename: str, **facts: Any) -> Wheel | None:
    try:
        _, version, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, ValueError):
        return None
    return Wheel(filename, version, tags, **facts)


def _is_project(filename: str, project: str) -> bool:
    try:
        return parse_wheel_filename(filename)[0] == project
    except (InvalidWheelFilename, ValueError):
        return False


def _with_details(wheels: list[Wheel], project: str, index: str, cert: str | None) -> list[Wheel]:
    """Sizes and dates from PyPI's JSON API, which many mirrors have beside the simple index."""
    try:
        text = fetch(f"{index.rstrip('/').removesuffix('/simple')}/pypi/{project}/json", cert)
        releases = json.loads(text)["releases"] if text else {}
        known = {file["filename"]: file for files in releases.values() for file in files}
    except (IndexUnreachableError, ValueError, KeyError, TypeError, AttributeError):
        return wheels
    return [
        replace(
            wheel,
            size=known[wheel.filename].get("size"),
            uploaded=wheel.uploaded or str(known[wheel.filename].get("upload_time") or "")[:10] or None,
        )
        if wheel.filename in known
        else wheel
        for wheel in wheels
    ]


def _local_page(page: str) -> str | None:
    directory = Path(unquote(urlsplit(page).path) if page.startswith("file:") else page)
    try:
        return (directory / "index.html").read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise IndexUnreachableError(f"{directory}: {error.strerror or error}") from error


def _login(url: str) -> dict[str, str]:
    """The login of an address, or that of the user's netrc file, as pip and uv take it."""
    parts = urlsplit(url)
    user, password = parts.username, parts.password
    if user is None and parts.hostname:
        try:
            found = netrc.netrc().authenticators(parts.hostname)
        except (OSError, netrc.NetrcParseError):
            found = None
        user, password = (found[0], found[2]) if found else (None, None)
    if not user:
        return {}
    token = b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
    return {"Authorization": f"Basic {token}"}


def _tls(cert: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=cert)
    except OSError:
        return ssl.create_default_context()
