"""Trying many independent edits with few queries.

All of them are merged and tried at once; where that is too much, each half is. So edits that do not conflict are accepted
together, a candidate that needs nothing special costs one query, and m necessary properties among n cost about m * log2(n).
Every decision follows from the answers alone, in a fixed order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from triage.judge.asking import Judge
from triage.reduce.graph.candidate import Candidate, present
from triage.reduce.graph.edits import Edit
from triage.reduce.graph.passes.proposal import Choice


@dataclass(frozen=True)
class Settled:
    """The candidate with every edit that could be made; and of each choice the alternatives that the failure did not survive.

    Where a later alternative was made, the simpler ones before it are among the rejected.
    """

    candidate: Candidate
    rejected: tuple[Choice, ...] = ()


def settle(driver: Judge[Candidate], current: Candidate, choices: Sequence[Choice]) -> Settled:
    """Make, of each choice, the first alternative after which the failure is still there."""
    choices = applicable(current, choices)
    if not choices:
        return Settled(current)
    if len(choices) == 1:
        return _single(driver, current, choices[0])
    middle = len(choices) // 2
    merged = _merged(current, choices)
    driver.ahead(present([merged, _merged(current, choices[:middle]), _merged(current, choices[middle:])]))
    if merged is not None and driver.fails(merged):
        return Settled(merged)
    left = settle(driver, current, choices[:middle])
    right = settle(driver, left.candidate, choices[middle:])
    return Settled(right.candidate, left.rejected + right.rejected)


def _single(driver: Judge[Candidate], current: Candidate, choice: Choice) -> Settled:
    changed = [(edit, candidate) for edit in choice.edits if (candidate := _lighter(current, [edit])) is not None]
    found = driver.first(candidate for _, candidate in changed)
    if found is None:
        return Settled(current, (choice,))
    simpler = tuple(edit for edit, _ in itertools.takewhile(lambda pair: pair[1] is not found, changed))
    return Settled(found, (Choice(choice.slot, simpler),) if simpler else ())


def applicable(current: Candidate, choices: Sequence[Choice]) -> list[Choice]:
    """The choices that have an alternative which makes the candidate lighter."""
    return [choice for choice in choices if any(_lighter(current, [edit]) is not None for edit in choice.edits)]


def _merged(current: Candidate, choices: Sequence[Choice]) -> Candidate | None:
    """The simplest alternative of every choice at once, leaving out those that no longer apply."""
    return _lighter(current, [choice.edits[0] for choice in choices])


def _lighter(current: Candidate, edits: Sequence[Edit]) -> Candidate | None:
    candidate = current
    for edit in edits:
        candidate = candidate.maybe(edit) or candidate
    return candidate if candidate.weight() < current.weight() else None
