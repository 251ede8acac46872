"""Bisection as a pure function: where a yes/no answer changes.

Asked in rounds, so that a caller who can ask several questions at once may look ahead; what is found depends only on the
answers, never on how many were asked ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator


def boundary(
    low: int, high: int, holds: Callable[[int], bool], ahead: Callable[[Iterator[int]], None] = lambda points: None
) -> int:
    """Given that it does not hold at `low` and holds at `high`: a point that holds and whose lower neighbour does not.

    With an answer that only ever changes once, that is the least point that holds. `ahead` is told which points may be
    asked about next, the certain one first. Asks at most ceil(log2(high - low)) questions.
    """
    while high - low > 1:
        ahead(next_points(low, high))
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def gallop(low: int, high: int) -> list[int]:
    """Points to probe from `low` up to below `high`: 1, 2, 4, then 16, 64, ... steps away. Near ones are cheap, so first."""
    steps = [1, 2, 4]
    while steps[-1] < high - low:
        steps.append(steps[-1] * 4)
    return [low + step for step in steps if low + step < high]


def next_points(low: int, high: int) -> Iterator[int]:
    """Midpoints of the bisection tree, breadth first: the next question, then the two that may follow it, and so on."""
    spans = [(low, high)]
    while spans:
        following: list[tuple[int, int]] = []
        for left, right in spans:
            if right - left > 1:
                middle = (left + right) // 2
                yield middle
                following += [(left, middle), (middle, right)]
        spans = following
