"""Which version to test next, as a pure function of the answers so far: good, bad, or skip (unknown).

Positions count *from the bad end*: 0 is the end where the failure is known, `size - 1` the end where it is believed to be
absent. So one search serves both questions, the version that broke it (the bad end is the newest) and the version that
fixed it (the bad end is the oldest): what is looked for is the edge of the stretch of failures that holds the bad end.

Both ends are tested first. An end that cannot answer is moved inwards in growing steps. Inside, the middle is tested; where
it cannot answer, the search widens round the unknown stretch by half of its length, so a cluster of broken versions is left
in a few steps. Every call names a version that has no answer yet, so a search always ends; without unknowns it takes at
most ceil(log2(size)) + 2 tests (two ends, and the middles between them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from triage.model.bisection import Standing

Answers = Mapping[int, Standing]
GOOD, BAD, SKIP = Standing.GOOD, Standing.BAD, Standing.SKIP


@dataclass(frozen=True)
class Edge:
    """`bad` and `good` are neighbours but for `unknown`, the positions between them that cannot answer."""

    bad: int
    good: int
    unknown: tuple[int, ...] = ()


def next_position(size: int, answers: Answers) -> int | None:
    """The position to test next; None where the edge is found, or cannot be."""
    bad = _first(answers, BAD)
    if bad is None:
        limit = _first(answers, GOOD)
        return _inwards(range(size if limit is None else limit), answers)
    good = _first(answers, GOOD, beyond=bad)
    if good is None:
        deepest = max(place for place, answer in answers.items() if answer is BAD)
        return _inwards(range(size - 1, deepest, -1), answers)
    bad = max(place for place, answer in answers.items() if answer is BAD and place < good)
    return _between(bad, good, answers)


def edge(answers: Answers) -> Edge | None:
    """The edge of the failing stretch at the bad end, as far as it is known; None where no edge was seen."""
    bad = _first(answers, BAD)
    good = None if bad is None else _first(answers, GOOD, beyond=bad)
    if bad is None or good is None:
        return None
    bad = max(place for place, answer in answers.items() if answer is BAD and place < good)
    return Edge(bad, good, tuple(place for place in range(bad + 1, good) if answers.get(place) is SKIP))


def edges(size: int, answers: Answers) -> list[tuple[int, int]]:
    """All changes seen, nearest to the bad end first: pairs of positions that answered differently, with none between."""
    told = [place for place in range(size) if answers.get(place) in (GOOD, BAD)]
    return [(near, far) for near, far in pairwise(told) if answers[near] is not answers[far]]


def is_monotone(size: int, answers: Answers) -> bool | None:
    """False where a passing version was seen nearer to the bad end than a failing one, or the bad end itself passes.

    True only where every version was tested; None where the untested ones could still contradict.
    """
    good = _first(answers, GOOD)
    if good is not None and any(answer is BAD and place > good for place, answer in answers.items()):
        return False
    tested = len([place for place in range(size) if place in answers])
    return True if tested == size else None


def most_left(size: int, answers: Answers) -> int:
    """How many more tests a search without further surprises takes at most."""
    bad = _first(answers, BAD)
    good = _first(answers, GOOD, beyond=-1 if bad is None else bad)
    if bad is None or good is None:
        if next_position(size, answers) is None:
            return 0
        limit = size if good is None else good  # beyond a version that passes nobody looks for the first that fails
        untested = sum(place not in answers for place in range(limit))
        return min(untested, max(size - 2, 0).bit_length() + (2 if bad is None else 1))
    found = edge(answers)
    assert found is not None
    open_places = [place for place in range(found.bad + 1, found.good) if place not in answers]
    return len(open_places).bit_length()


def may_follow(size: int, answers: Answers, running: int) -> list[tuple[int, bool]]:
    """What may be tested after `running`: (position, certain).

    Certain is what comes next whatever `running` answers; while an end is tested, that it is as it was said to be.
    """
    after = [next_position(size, {**answers, running: answer}) for answer in (BAD, GOOD)]
    places = list(dict.fromkeys(place for place in after if place is not None))
    at_an_end = not {BAD, GOOD} <= {*answers.values()}
    return [(place, after[0] == after[1] or (at_an_end and len(places) == 1)) for place in places]


def _first(answers: Answers, wanted: Standing, beyond: int = -1) -> int | None:
    return min((place for place, answer in answers.items() if answer is wanted and place > beyond), default=None)


def _inwards(places: Iterable[int], answers: Answers) -> int | None:
    """The untested place nearest to the start of `places`, past unknowns in steps that grow with their number.

    All answers among `places` are unknowns.
    """
    ordered = list(places)
    unknown = [index for index, place in enumerate(ordered) if place in answers]
    wanted = unknown[-1] + 1 + len(unknown) // 2 if unknown else 0
    untested = [index for index, place in enumerate(ordered) if place not in answers]
    return ordered[min(untested, key=lambda index: abs(index - wanted))] if untested else None


def _between(bad: int, good: int, answers: Answers) -> int | None:
    untested = [place for place in range(bad + 1, good) if place not in answers]
    if not untested:
        return None
    middle = (bad + good) // 2
    if middle in untested:
        return middle
    left = right = middle  # the unknown stretch round the middle
    while answers.get(left - 1) is SKIP and left - 1 > bad:
        left -= 1
    while answers.get(right + 1) is SKIP and right + 1 < good:
        right += 1
    step = max(1, (right - left + 1) // 2)
    return min(untested, key=lambda place: (min(abs(place - (left - step)), abs(place - (right + step))), place))
