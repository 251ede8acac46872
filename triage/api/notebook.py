"""`%load_ext triage`, then `%%triage` above a cell: the cell is a script of its own, and is triaged."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

from triage.api.answers import TriageReport
from triage.api.commands import run
from triage.environments.files import write_whole
from triage.errors import TriageError, UsageError, written
from triage.model.places import RUNS

_NUMBERS = ("--timeout", "--budget")
_FLAGS = {"--no-reduce": {"reduce": False}, "--reproducer-only": {"reproducer_only": True}}


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext triage` calls."""
    shell.register_magic_function(cell, magic_kind="cell", magic_name="triage")


def cell(line: str, text: str) -> TriageReport | None:
    """Triage a cell in a fresh process: it must import what it uses. Prints what an error says, and then returns None.

    `line` takes --budget SECONDS, --timeout SECONDS, --no-reduce, --reproducer-only.
    """
    try:
        return run(_script(text), **_options(line))
    except TriageError as error:
        print(f"triage: {error.what}\n  why:  {error.why}\n  next: {error.next}")  # noqa: T201
        return None


def _script(text: str) -> Path:
    """The cell as a file: the report names it, and the run can be repeated. Raises UsageError where it cannot be written."""
    name = f"cell-{hashlib.sha256(text.encode()).hexdigest()[:8]}.py"
    file = Path(RUNS) / "cells" / name
    next_step = "Start the notebook where you may write, or change to another directory: %cd DIR"
    with written(f"The cell's file {file}", next_step):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text)
    return file


def _options(line: str) -> dict[str, Any]:
    words = shlex.split(line)
    given: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        if word in _FLAGS:
            given |= _FLAGS[word]
        elif word in _NUMBERS and words:
            given[word[2:]] = words.pop(0)  # the settings read and check it
        else:
            raise UsageError(
                what=f"%%triage does not know {word}.",
                why=f"It takes {', '.join([*_NUMBERS, *_FLAGS])}.",
                next="For example: %%triage --budget 600",
            )
    return given
