"""The nearest passing script: one step away from the reproducer, on the side where the failure is gone.

First the boundary of a size ("fails with 17, passes with 16"), then whatever property of the reproducer could not be made
simpler ("passes with float32 instead of complex64"). It is judged like any candidate, and only told if it passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from triage.judge.asking import Judge
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.dials import passing_below
from triage.reduce.graph.passes import DETAILS, Choice

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
    changed = [(edit.what, candidate) for edit in edits if (candidate := current.maybe(edit)) is not None]
    # What is known already costs nothing.
    changed.sort(key=lambda pair: driver.remembered(pair[1]) is None)
    for what, candidate in changed:
        if driver.remembered(candidate) is None:
            left -= 1
        if left < 0:
            break
        if driver.judge(candidate).verdict is Verdict.NO_FAILURE:
            return Neighbour(candidate, f"It passes {what}.")
    return None
