"""Turning one number down: by powers until it fails, then to the exact boundary.

The boundary is knowledge: "it fails with 17 and passes with 16" tells a maintainer more than a small script. So the nearest
passing script is told as well: one step away from the reproducer, on the side where the failure is gone. First the boundary
of a size, then whatever property of the reproducer could not be made simpler ("passes with float32 instead of complex64").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from triage.judge.asking import Judge
from triage.judge.boundary import boundary, gallop
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.passes import DETAILS, Choice
from triage.reduce.graph.passes.proposal import Dial


def turned(driver: Judge[Candidate], current: Candidate, dial: Dial) -> Candidate:
    """The candidate with the dial as low as the failure allows."""
    turning = _Turning(driver, current, dial)
    passing, failing = dial.low - 1, dial.value
    points = gallop(dial.low - 1, dial.value)
    for place, point in enumerate(points):
        turning.ahead(points[place:])
        if turning.fails(point):
            failing = point
            break
        passing = point
    if turning.valid:  # otherwise no other value makes a working script, and searching on would be in vain
        failing = boundary(passing, failing, turning.fails, turning.ahead)
    return turning.failing.get(failing, current)


def passing_below(driver: Judge[Candidate], current: Candidate, dial: Dial) -> Candidate | None:
    """The candidate with the dial one lower, if that one passes."""
    turning = _Turning(driver, current, dial)
    turning.fails(dial.value - 1)
    return turning.passing.get(dial.value - 1)


class _Turning:
    """What is known of each setting of one dial."""

    def __init__(self, driver: Judge[Candidate], current: Candidate, dial: Dial) -> None:
        self._driver, self._current, self._dial = driver, current, dial
        self.failing: dict[int, Candidate] = {}
        self.passing: dict[int, Candidate] = {}

    @property
    def valid(self) -> bool:
        """Whether any setting made a script that says something."""
        return bool(self.failing or self.passing)

    def fails(self, value: int) -> bool:
        """Tries the ways to set the dial until one makes a script that says something."""
        for candidate in self._ways(value):
            verdict = self._driver.judge(candidate).verdict
            if verdict is Verdict.SAME_FAILURE:
                self.failing[value] = candidate
                return True
            if verdict is Verdict.NO_FAILURE:
                self.passing[value] = candidate
                return False
        return False

    def ahead(self, values: Iterable[int]) -> None:
        self._driver.ahead(way for value in values for way in self._ways(value)[:1])

    def _ways(self, value: int) -> list[Candidate]:
        ways = [self._current.maybe(edit) for edit in self._dial.edits(value)]
        mass = self._current.weight()
        return [way for way in ways if way is not None and way.weight() < mass]


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
    return frozenset((candidate.text() or "").splitlines())
