"""Early news: the guilty operation and the first reproducer, as soon as they are known and before they are verified.

`repro.py` lies on disk from then on, and says in its first line that it was not verified. What the run ends in takes its
place; where that is nothing, it goes.
"""

from __future__ import annotations

from pathlib import Path

from triage.culprit.operation import culprit_of
from triage.locate.conclude import Conclusion
from triage.reduce.interface import Reduction
from triage.reduce.printing.printer import code_lines
from triage.stories.findings import Findings

NAME = "repro.py"
MARK = "# NOT VERIFIED YET: triage is still running this in fresh processes.\n"


def named_early(found: Findings, conclusion: Conclusion) -> str | None:
    """The operation that the error itself names, before anything is reduced."""
    culprit = culprit_of(conclusion, None, found.cases)
    return culprit.op if culprit is not None else None


def reduced_early(found: Findings, conclusion: Conclusion, reduction: Reduction) -> None:
    """Tell of a reduction, and leave it on disk, while fresh processes run it."""
    culprit = culprit_of(conclusion, reduction.graph, found.cases)
    (found.session.directory / NAME).write_text(MARK + reduction.source, encoding="utf-8")
    found.session.emit(
        "reproducer_found",
        path=str(found.session.directory / NAME),
        ops=reduction.ops,
        lines=code_lines(reduction.source),
        operation=culprit.op if culprit is not None else None,
    )


def withdraw(directory: Path) -> None:
    """What was shown early did not hold."""
    file = directory / NAME
    if file.is_file() and file.read_text(encoding="utf-8").startswith(MARK):
        file.unlink()
