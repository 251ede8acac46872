"""Taking operations out of a small failing graph, one after the other, until none can go.

Each operation is removed in every way there is: cut (what was read from it becomes an input), bypassed by an argument
of the same shape and dtype, cut with what it read returned, merged with one before that is like it. Runs of operations
that go in one piece are found by doubling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.judge.asking import Judge
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.edits import Bypass, Cut, DropContext, Edit, Merge
from triage.reduce.graph.passes import bodies, carried, inline
from triage.reduce.graph.wiring import Wiring


def thinned(driver: Judge[Candidate], current: Candidate) -> Candidate:
    """One sweep over the operations, those farthest from the outputs first."""
    driver.begin("thin")
    place, run, bypassing = 0, 1, False
    while True:
        units = Wiring(current.case).units
        if place >= len(units):
            return current
        run = min(run, len(units) - place)
        driver.ahead(candidate for _, candidate in _ahead(current, units, place, run))
        edits = removals(units[place : place + run])
        edits.sort(key=lambda edit: isinstance(edit, Bypass) is not bypassing)  # what worked last time comes first
        changed = list(lighter(current, edits))
        smaller = driver.first(candidate for _, candidate in changed)
        if smaller is not None:
            following = set(units[place + run :])
            bypassing = any(isinstance(edit, Bypass) for edit, candidate in changed if candidate is smaller)
            current = smaller
            units = Wiring(current.case).units
            place = next((index for index, unit in enumerate(units) if unit in following), len(units))
            run *= 2
        elif run > 1:
            run = 1
        else:
            place += 1


def removable(driver: Judge[Candidate], current: Candidate) -> Candidate | None:
    """What is left when one operation (also of a nested graph) or mode switch can be taken out; None if each is needed.

    None is the proof of 1-minimality: every removal of one operation was tried and made the failure go away.
    """
    driver.begin("minimality")
    wiring = Wiring(current.case)
    edits = [edit for unit in wiring.units for edit in removals([unit])]
    edits += [DropContext(unit) for unit in wiring.contexts]
    edits += [
        edit for nested in (inline, bodies, carried) for choice in nested.propose(current.case) for edit in choice.edits
    ]
    return driver.first(candidate for _, candidate in lighter(current, edits))


def removals(units: Sequence[str]) -> list[Edit]:
    """The ways to take out these operations, likeliest first."""
    edits: list[Edit] = [Cut(frozenset(units)), Bypass(tuple(units))]
    if len(units) == 1:
        edits += [Bypass(tuple(units), choice=1), Cut(frozenset(units), escaping=True), Merge(units[0])]
    return edits


def lighter(current: Candidate, edits: Sequence[Edit]) -> Iterator[tuple[Edit, Candidate]]:
    """The edits that give a well-formed candidate lighter than the current one, each with that candidate."""
    mass = current.weight()
    for edit in edits:
        candidate = current.maybe(edit)
        if candidate is not None and candidate.weight() < mass:
            yield edit, candidate


def _ahead(current: Candidate, units: Sequence[str], place: int, run: int) -> Iterator[tuple[Edit, Candidate]]:
    """What a sequence of refusals would lead to."""
    for start in range(place, len(units)):
        yield from lighter(current, removals(units[start : start + run]))
        run = 1
