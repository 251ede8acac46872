"""The settings of a run, and where they come from: command line > TRIAGE_* variables > [tool.triage] > defaults."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Collection, Mapping
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

Parser = Callable[[Any], Any]  # from what a source holds; raises TypeError or ValueError


def positive(value: Any) -> float:
    number = float(value)
    if not number > 0:  # also refuses nan
        raise ValueError("it must be more than 0")
    return number


def positive_or_none(value: Any) -> float:
    """Seconds, where 0 stands for no limit."""
    return 0.0 if float(value) == 0 else positive(value)


def count(value: Any) -> int:
    number = int(value)
    if number < 0:
        raise ValueError("it must not be negative")
    return number


def yes_or_no(value: Any) -> bool:
    word = str(value).lower()
    if word not in (*YES, *NO):
        raise ValueError(f"it must be one of {', '.join((*YES, *NO))}")
    return word in YES


def one_of(*allowed: str) -> Parser:
    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"it must be one of {', '.join(allowed)}")
        return str(value)

    return parse


def some_of(allowed: Collection[str]) -> Parser:
    def parse(value: Any) -> tuple[str, ...]:
        words = value if isinstance(value, (list, tuple)) else str(value).split(",")
        chosen = tuple(word.strip() for word in words if str(word).strip())
        if not chosen or any(word not in allowed for word in chosen):
            raise ValueError(f"it must be made of {', '.join(allowed)}")
        return chosen

    return parse


def path(value: Any) -> Path:
    return Path(str(value)).expanduser()


def setting(default: Any, parse: Parser, example: str = "...") -> Any:
    """One row of `Settings`: its default, how a value is read, and one that may be typed."""
    return dataclasses.field(default=default, metadata={"parse": parse, "example": example})


@dataclass(frozen=True)
class Settings:
    """The table. `timeout` and `budget` are in seconds, a `budget` of 0 is none; `jobs` 0: as many as cores and memory allow.

    A row is a variable TRIAGE_NAME and a key of [tool.triage]; an option of the command line is written in `cli/run.py`.
    """

    python: str | None = setting(None, str)
    out: Path | None = setting(None, path)
    timeout: float = setting(300.0, positive, "300")
    budget: float = setting(0.0, positive_or_none, "600")
    jobs: int = setting(0, count, "2")
    reduce: bool = setting(True, yes_or_no)
    engine: str = setting("auto", one_of(*ENGINES), "auto")
    accuracy: str = setting("auto", one_of(*ACCURACY), "auto")
    format: tuple[str, ...] = setting(("md", "html", "json"), some_of(BY_NAME), "md,html,json")
    include_data: bool = setting(False, yes_or_no)
    reproducer_only: bool = setting(False, yes_or_no)
    screen: bool = setting(False, yes_or_no)
    operation_only: bool = setting(False, yes_or_no)
    redact: bool = setting(True, yes_or_no)
    template: Path | None = setting(None, path, "report.md.j2")

    @property
    def budget_ended(self) -> str:
        """Why a result is not whole where all of the budget was spent."""
        return f"the budget of {self.budget:.0f} s ended"


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
                values[field.name] = _parse(field, value, source)
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
    if isinstance(values.get("template"), str):  # beside the file that names it, wherever triage is started
        values["template"] = path.parent / Path(values["template"]).expanduser()
    return values


def _parse(field: dataclasses.Field[Any], value: Any, source: str) -> Any:
    try:
        return field.metadata["parse"](value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            what=f"The value {value!r} of {field.name} cannot be used.",
            why=f"It comes from {source}: {error}.",
            next=f"Correct it there, for example: triage run --{field.name} {field.metadata['example']} script.py",
        ) from error
