"""The nearest passing script: one step away from the reproducer, on the side where the failure is gone.

First the boundary of a size ("fails with 17, passes with 16"), then whatever property of the reproducer could not be made
simpler ("passes with float32 instead of complex64"). It is judged like any candidate, and only told if it passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from triage.judge.asking import Judge
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.dials import passing_below
from triage.reduce.graph.passes import DETAILS, Choice
from triage.reduce.printing.printer import Unprintable

ASKED = 4  # questions at most: passing candidates are dear


@dataclass(frozen=True)
class Neighbour:
    """A candidate that passes, and a sentence on how it differs from the failing one."""

    candidate: Candidate
    difference: str


def nearest_passing(driver: Judge[Candidate], current: Candidate, needed: Iterable[Choice]) -> Neighbour | None:
    """The nearest passing candidate. `needed` are the choices the failure did not survive."""
    driver.begin("nearest passing")
    left = ASKED
    for one in DETAILS:
        for dial in one.dials(current.case):
            candidate = passing_below(driver, current, dial) if left > 0 else None
            left -= 1
            if candidate is not None:
                return Neighbour(candidate, dial.boundary(dial.value, dial.value - 1))
    edits = [edit for choice in needed for edit in choice.edits]
    lines = _lines(current)
    found = [(edit.what, candidate) for edit in edits if (candidate := current.maybe(edit)) is not None]
    changed = sorted(((len(lines ^ _lines(each)), what, each) for what, each in found), key=itemgetter(0))
    # What is known already costs nothing, so others are asked only where they are far nearer.
    known = next((each for each in changed if _is_known_to_pass(driver, each[2])), None)
    for distance, what, candidate in changed:
        if left <= 0 or (known is not None and 2 * distance > known[0]):
            break
        if driver.remembered(candidate) is None:
            left -= 1
            if driver.judge(candidate).verdict is Verdict.NO_FAILURE:
                return Neighbour(candidate, f"It passes {what}.")
    return Neighbour(known[2], f"It passes {known[1]}.") if known is not None else None


def _is_known_to_pass(driver: Judge[Candidate], candidate: Candidate) -> bool:
    remembered = driver.remembered(candidate)
    return remembered is not None and remembered.verdict is Verdict.NO_FAILURE


def _lines(candidate: Candidate) -> frozenset[str]:
    """Of its text; none of one that cannot be printed, which is refused when it is judged."""
    try:
        return frozenset(candidate.source().splitlines())
    except Unprintable:
        return frozenset()
