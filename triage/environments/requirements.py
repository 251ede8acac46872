"""Requirements files made fit for any torch: included files are read in, pins of torch and what follows it are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from triage.environments.recipes import without_torch
from triage.errors import UsageError

_INCLUDE = re.compile(r"^(?P<option>-r|--requirement|-c|--constraint)[ =]*(?P<file>\S+)\s*$")
_LOCAL = re.compile(
    r"^(?P<editable>(?:-e|--editable)[ =]+)?(?P<path>\.{1,2}(?:[/\\][^\s\[;]*)?|[/~][^\s\[;]*)(?P<rest>\[.*)?$"
)
DEPTH = 10


@dataclass(frozen=True)
class Gathered:
    """The lines to install, the lines that only constrain, and what was left out because only torch may vary."""

    lines: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def gather(files: Iterable[Path], cwd: Path) -> Gathered:
    """Read requirements files. Raises UsageError where one cannot be read."""
    lines: list[str] = []
    constraints: list[str] = []
    for file in files:
        _read(file, cwd, lines, constraints, DEPTH)
    kept, dropped = without_torch(lines)
    kept_constraints, dropped_too = without_torch(constraints)
    # A bare name (a package that follows torch, its version taken off) constrains nothing.
    constraining = [line for line in kept_constraints if not re.fullmatch(r"[\w.-]+", line.strip())]
    return Gathered(tuple(kept), tuple(constraining), tuple(dict.fromkeys([*dropped, *dropped_too])))


def _read(file: Path, cwd: Path, lines: list[str], constraints: list[str], depth: int) -> None:
    try:
        text = (cwd / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            what=f"The requirements file {file} cannot be read.", why=str(error), next="Check the path given with -r."
        ) from error
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.sub(r"(?:^|\s)#.*$", "", line).strip()
        include = _INCLUDE.match(line)
        if include is not None and depth:
            inner = (cwd / file).parent / include["file"]
            into = constraints if include["option"] in ("-c", "--constraint") else lines
            _read(inner, cwd, into, constraints, depth - 1)
        elif line:
            lines.append(_absolute(line, cwd))


def _absolute(line: str, cwd: Path) -> str:
    """A path in a requirement is relative to where the person is; the installer runs elsewhere."""
    found = _LOCAL.match(line)
    if found is None:
        return line
    path = (cwd / Path(found["path"]).expanduser()).resolve()
    return f"{found['editable'] or ''}{path}{found['rest'] or ''}"
