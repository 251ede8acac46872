"""Early news: the guilty operation and the first reproducer, as soon as they are known and before they are verified.

`repro.py` lies on disk from the first candidate on that fails the same way, is replaced by each smaller one, and says in its
first line that it was not verified. What the run ends in takes its place; where that is nothing, it goes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from triage.culprit.operation import culprit_of, operators_of
from triage.environments.files import write_whole
from triage.locate.conclude import Conclusion
from triage.reduce.interface import Reduction
from triage.reduce.printing.printer import code_lines
from triage.report.trace import trace_of
from triage.stories.findings import Findings

NAME = "repro.py"
MARK = "# NOT VERIFIED YET: triage is still at work on this.\n"


def named_early(conclusion: Conclusion) -> str | None:
    """The operation that the error itself names, before anything is reduced."""
    culprit = culprit_of(conclusion, None, None)
    return culprit.op if culprit is not None else None


class EarlyNews:
    """What a reduction finds on its way, on disk and told, while it goes on and while fresh processes run what it ends in."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._file = found.session.directory / NAME

    def emit(self, kind: str, **facts: Any) -> None:
        """The session's `emit` for engines: the text of a candidate goes into the file, not into the journal."""
        source = facts.pop("source", None) if kind == "reduced" else None
        if source is not None:
            write_whole(self._file, MARK + source)
            facts["path"] = str(self._file)
        self._found.session.emit(kind, **facts)

    def reduced(self, reduction: Reduction) -> None:
        """An engine is done: what it found is about to be verified."""
        trace = trace_of(self._found.session.directory)
        if trace is not None and self._found.trace_work is not None:
            self._found.trace_work.begin(trace)  # nothing is asked of us while fresh processes run
        write_whole(self._file, MARK + reduction.source)
        self._found.session.emit(
            "reproducer_found",
            path=str(self._file),
            ops=reduction.ops,
            lines=code_lines(reduction.source),
            operations=operators_of(reduction.graph) if reduction.graph is not None else [],
        )

    def verified(self, source: str) -> None:
        """Fresh processes fail with it: what is asked of it now may take minutes, in which it is run and sent to others."""
        write_whole(self._file, source)


def withdraw(directory: Path, *, verified: bool = False) -> None:
    """Remove the early reproducer, which did not hold; with `verified` also a verified one, whose conclusion was given up."""
    for name in (NAME, "passing.py") if verified else (NAME,):
        file = directory / name
        if file.is_file() and (verified or file.read_text(encoding="utf-8").startswith(MARK)):
            file.unlink()
    if verified:
        shutil.rmtree(directory / "siblings", ignore_errors=True)
