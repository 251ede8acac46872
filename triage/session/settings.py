"""The settings of a run, and where they come from: command line > TRIAGE_* variables > [tool.triage] > defaults."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.errors import UsageError
from triage.model.formats import BY_NAME

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

ENGINES = ("auto", "native", "repro_after")
ACCURACY = ("auto", "always", "never")
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Settings:
    """`timeout` and `budget` are in seconds; `budget` 0 means no limit; `jobs` 0 means as many as cores and memory allow."""

    python: str | None = None
    out: Path | None = None
    timeout: float = 300.0
    budget: float = 0.0
    jobs: int = 0
    reduce: bool = True
    engine: str = "auto"
    accuracy: str = "auto"
    format: tuple[str, ...] = ("md", "json")
    include_data: bool = False


def load_settings(
    given: Mapping[str, Any], *, environ: Mapping[str, str] = os.environ, directory: Path | None = None
) -> Settings:
    """Merge the sources; `given` holds what the command line set (None where it did not).

    Raises UsageError that names the source of a value that does not fit.
    """
    values: dict[str, Any] = {}
    from_file = _file_values(directory or Path.cwd())
    for field in dataclasses.fields(Settings):
        for source, value in (
            ("the command line", given.get(field.name)),
            (f"TRIAGE_{field.name.upper()}", environ.get(f"TRIAGE_{field.name.upper()}") or None),
            ("[tool.triage] in pyproject.toml", from_file.get(field.name)),
        ):
            if value is not None:
                values[field.name] = _parse(field.name, value, source)
                break
    return Settings(**values)


def _file_values(directory: Path) -> dict[str, Any]:
    for folder in (directory, *directory.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            try:
                found = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("triage", {})
            except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError):
                return {}
            return _known(found, path) if isinstance(found, dict) else {}
    return {}


def _known(found: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The settings of the table; other tables in it are someone else's. A name that means nothing is a slip."""
    names = [field.name for field in dataclasses.fields(Settings)]
    values = {name.replace("-", "_"): value for name, value in found.items() if not isinstance(value, dict)}
    for name in found:
        if name.replace("-", "_") in values and name.replace("-", "_") not in names:
            raise UsageError(
                what=f"There is no setting {name}.",
                why=f"It stands in [tool.triage] of {path}; known are {', '.join(names)}.",
                next="Correct its name, or remove it.",
            )
    return values


def _parse(name: str, value: Any, source: str) -> Any:
    try:
        if name in ("timeout", "budget"):
            number = float(value)
            if not number >= 0 or (name == "timeout" and number == 0):  # also refuses nan
                raise ValueError("it must be more than 0")
            return number
        if name == "jobs":
            number = int(value)
            if number < 0:
                raise ValueError("it must not be negative")
            return number
        if name in ("reduce", "include_data"):
            word = str(value).lower()
            if word not in (*YES, *NO):
                raise ValueError(f"it must be one of {', '.join((*YES, *NO))}")
            return word in YES
        if name in ("engine", "accuracy"):
            allowed = ENGINES if name == "engine" else ACCURACY
            if value not in allowed:
                raise ValueError(f"it must be one of {', '.join(allowed)}")
            return value
        if name == "format":
            words = value if isinstance(value, (list, tuple)) else str(value).split(",")
            chosen = tuple(word.strip() for word in words if str(word).strip())
            wrong = [word for word in chosen if word not in BY_NAME]
            if wrong or not chosen:
                raise ValueError(f"it must be made of {', '.join(BY_NAME)}")
            return chosen
        if name == "out":
            return Path(str(value)).expanduser()
        return str(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            what=f"The value {value!r} of {name} cannot be used.",
            why=f"It comes from {source}: {error}.",
            next=f"Correct it there, for example: triage run --{name} {_example(name)} script.py",
        ) from error


def _example(name: str) -> str:
    return {
        "timeout": "300",
        "budget": "600",
        "jobs": "2",
        "engine": "auto",
        "accuracy": "auto",
        "format": "md,json",
    }.get(name, "...")
