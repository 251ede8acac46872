"""What one reducer made of one failure, and the Markdown table over all of them. Pure: nothing is run here.

Both reducers are measured by the same rules: the clock starts when the failing graph is at hand and stops at the final
script; code lines are counted by one function; a success is a final script that failed the same way each time it was run
by itself in a fresh process.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NATIVE, TORCH = "native", "PyTorch's minifier"

HEADER = (
    "| case | reducer | success | seconds | CPU s | queries | ops | code lines | capture, s | remark |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Measured:
    """One reducer on one failure.

    `seconds` run from the graph at hand (captured, or in a launcher) to the final script; None where it never started. `cpu`
    is the processor time of the same span, in seconds. `capture` is what getting the graph cost in runs of the program
    beyond the failing one, in seconds. `verified` of `runs` fresh processes failed the same way; without a final script
    both are 0. `at_least` marks a lower bound of `queries`. `ops_before` are those of the graph at hand, `ops` and `lines`
    those of the final script.
    """

    reducer: str
    seconds: float | None = None
    cpu: float | None = None
    capture: float = 0.0
    queries: int | None = None
    at_least: bool = False
    ops_before: int | None = None
    ops: int | None = None
    lines: int | None = None
    verified: int = 0
    runs: int = 0
    timed_out: bool = False
    remark: str = ""

    @property
    def success(self) -> bool:
        return self.runs > 0 and self.verified == self.runs


@dataclass(frozen=True)
class Contest:
    """Both reducers on one failure. `stage` is where it was located; `remark` says why there was nothing to measure."""

    case: str
    stage: str
    results: tuple[Measured, ...] = ()
    remark: str = ""

    def of(self, reducer: str) -> Measured | None:
        return next((result for result in self.results if result.reducer == reducer), None)

    def ratios(self) -> tuple[float, float] | None:
        """(seconds, processor seconds) of PyTorch's minifier for each one of ours.

        Lower bounds where the limit ended it. None unless both scripts were verified and ours was not cut short.
        """
        ours, theirs = self.of(NATIVE), self.of(TORCH)
        if ours is None or theirs is None or not (ours.success and theirs.success) or ours.timed_out:
            return None
        if not (ours.seconds and theirs.seconds and ours.cpu and theirs.cpu):
            return None
        return theirs.seconds / ours.seconds, theirs.cpu / ours.cpu


def table(contests: Iterable[Contest], limit: float) -> str:
    """Two rows per case, what the columns mean, and the summary."""
    contests = list(contests)
    lines = list(HEADER)
    for contest in contests:
        lines += [_row(contest, result) for result in contest.results]
        if not contest.results:
            lines.append(f"| {_cell(contest.case)} | - | - | - | - | - | - | - | - | {_cell(contest.remark)} |")
    return "\n".join([*lines, "", *summary(contests), "", *legend(limit), ""])


def _row(contest: Contest, result: Measured) -> str:
    queries = "-" if result.queries is None else f"{'at least ' if result.at_least else ''}{result.queries}"
    ops = "-" if result.ops is None else str(result.ops)
    before = "" if result.ops_before is None else f"{result.ops_before} to "
    cells = (
        contest.case,
        result.reducer,
        _success(result),
        "-" if result.seconds is None else f"{result.seconds:.1f}{' (limit)' if result.timed_out else ''}",
        "-" if result.cpu is None else f"{result.cpu:.1f}",
        queries,
        f"{before}{ops}",
        "-" if result.lines is None else str(result.lines),
        f"{result.capture:.1f}",
        result.remark or "",
    )
    return f"| {' | '.join(map(_cell, cells))} |"


def _success(result: Measured) -> str:
    if not result.runs:
        return "no"
    return f"{'yes' if result.success else 'no'} ({result.verified} of {result.runs})"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def summary(contests: Sequence[Contest]) -> list[str]:
    """How often each succeeded, and how much faster the native reducer was where both did."""
    lines = []
    for reducer in (NATIVE, TORCH):
        results = [result for contest in contests if (result := contest.of(reducer)) is not None]
        if results:
            good = [result for result in results if result.success]
            cut = sum(result.timed_out for result in good)
            lines.append(
                f"* {reducer}: {len(good)} of {len(results)} verified{f', {cut} of them as the limit left them' if cut else ''}."
            )
    compared = [contest for contest in contests if contest.ratios() is not None]
    bound = "at least " if any((result := contest.of(TORCH)) and result.timed_out for contest in compared) else ""
    for number, unit in enumerate(("seconds", "processor seconds")):
        column = [ratios[number] for contest in compared if (ratios := contest.ratios()) is not None]
        if column:
            lines.append(
                f"* Where both were verified ({len(column)}), PyTorch's minifier took {bound}{statistics.median(column):.1f} "
                f"times the {unit} (median; from {min(column):.1f} to {max(column):.1f})."
            )
    return lines


def legend(limit: float) -> list[str]:
    """What the columns count."""
    return [
        f"Seconds: from the graph at hand to the final script, at most {limit:.0f}. For native this includes starting the",
        "warm interpreter; for PyTorch's minifier it is the whole life of `python minifier_launcher.py`. Not in it, for either:",
        "locating the stage, capture, verification. CPU: processor time of that span, of all processes. Capture: runs of the",
        "program beyond the failing one, to get the graph. Native has it from the failing run itself; PyTorch's minifier needs",
        "the program to run again under `TORCHDYNAMO_REPRO_AFTER`. Success: the final script, run by itself in fresh",
        "processes, failed the same way each time. Ops: operations of the graph at hand, then of the final script.",
    ]
