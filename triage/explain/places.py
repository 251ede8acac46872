"""Lines of the program: as a person knows them, and what stands around them."""

from __future__ import annotations

import contextlib
import re
import tokenize
from collections.abc import Sequence
from pathlib import Path

from triage.model.explanation import SourceLine

AROUND = 1  # lines before and after
_RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<function>.+)_at_(?P<line>\d+)$")


def shown(file: str, cwd: Path) -> str:
    """Relative to where the program was started, if it lies below."""
    with contextlib.suppress(ValueError):
        return str(Path(file).relative_to(cwd))
    return file


def function_of(name: str) -> str:
    """`forward` for the name that Dynamo gives what follows a break in it."""
    found = _RESUMED.match(name)
    return function_of(found["function"]) if found else name


def resumed_at(name: str) -> int | None:
    """The line behind whose break this function goes on; None for a function of the program."""
    found = _RESUMED.match(name)
    return int(found["line"]) if found else None


def around(file: str, line: int, cwd: Path) -> tuple[SourceLine, ...]:
    """The line and its neighbours; nothing where the file cannot be read."""
    try:
        with tokenize.open(cwd / file) as source:
            lines = source.read().splitlines()
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
        return ()
    first = max(1, line - AROUND)
    return tuple(SourceLine(number, lines[number - 1]) for number in range(first, min(len(lines), line + AROUND) + 1))


def told(frame: Sequence[object], cwd: Path) -> str:
    """`net.py:12 in forward`."""
    return f"{shown(str(frame[0]), cwd)}:{frame[1]} in {function_of(str(frame[2]))}"
