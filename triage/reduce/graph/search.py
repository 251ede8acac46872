"""From a whole graph to a small failing one, bottom-up.

A query costs more the larger the graph is, so small graphs come first: what the evidence points at; one of each kind of
operation; the neighbourhood of a suspect. Only then is the whole graph asked, bisected for its shortest failing prefix
(whose last operation is the *sink*), and a slice grown backwards from the sink. Measured on a transformer of 514 calls
whose failure needs six of them: 19 queries.

Every function returns a candidate that the driver has seen fail, or None; what it returns depends on the answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from triage.judge.asking import Judge
from triage.judge.boundary import boundary, gallop, next_points
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate, present
from triage.reduce.graph.canonical import kind_of
from triage.reduce.graph.edits import Bypass
from triage.reduce.graph.scalars import elements
from triage.reduce.graph.wiring import Wiring

# The first kinds are tried one by one, the others in packs: a pack that passes clears all of its kinds with one compile.
SINGLES = 8
PACKS = (8, 16, 32)
# A pack that fails otherwise hides what its other members do, and is split; at most so many questions are spent on that.
SPLITS = 16
SUSPECT_KINDS = 6
GROWN_SUSPECTS = 2
GROWN_RADII = (1, 2, 4, 8)
# The end of the shortest prefix is looked for in a window once the window is this many times smaller than the prefix.
WINDOW = 4
# Below this size removing one operation after the other is cheaper than bisecting.
SMALL = 16


def small_first(driver: Judge[Candidate], start: Candidate, suspects: Sequence[str]) -> Candidate | None:
    """A small failing slice, found without ever running the whole graph."""
    wiring = Wiring(start.case)
    driver.begin("evidence")
    found = driver.first(start.some([unit] for unit in _one_per_kind(wiring, suspects)[:SUSPECT_KINDS]))
    if found is None:
        driver.begin("singles")
        found = _by_kind(driver, start, _ordered_kinds(wiring, suspects))
    if found is None:
        driver.begin("slices")
        found = _around(driver, start, wiring, suspects[:GROWN_SUSPECTS])
    return found


def from_whole(driver: Judge[Candidate], start: Candidate) -> Candidate | None:
    """A failing slice of a graph that fails as a whole; None if it does not."""
    driver.begin("whole")
    if not driver.fails(start):
        return None
    driver.begin("prefix")
    prefix = _shortest_prefix(driver, start)
    wiring = Wiring(prefix.case)
    if not wiring.units:
        return prefix
    driver.begin("backwards")
    return _backwards(driver, prefix, wiring, wiring.units[-1])


def every_kind(driver: Judge[Candidate], start: Candidate) -> Candidate | None:
    """One operation of every kind, one after the other: the last resort for a graph that does not fail as a whole."""
    driver.begin("every kind")
    return driver.first(start.some([unit] for unit in _ordered_kinds(Wiring(start.case), ())))


def _by_kind(driver: Judge[Candidate], start: Candidate, kinds: Sequence[str]) -> Candidate | None:
    found = driver.first(start.some([unit] for unit in kinds[:SINGLES]))
    rest, splits = kinds[SINGLES:], SPLITS
    for size in PACKS:
        packs, rest = [rest[:size]], rest[size:]
        while packs and found is None:
            pack = packs.pop(0)
            candidate = start.kept(pack)
            verdict = Verdict.UNRESOLVED if candidate is None else driver.judge(candidate).verdict
            if candidate is not None and verdict is Verdict.SAME_FAILURE:
                found = from_whole(driver, candidate)
            elif verdict is Verdict.UNRESOLVED and len(pack) > 1 and splits > 0:
                packs += [pack[: len(pack) // 2], pack[len(pack) // 2 :]]
                splits -= 1
    return found


def _ordered_kinds(wiring: Wiring, tried: Sequence[str]) -> list[str]:
    """One unit per kind that was not tried, cheapest first; of every target one kind before the second of any."""
    known = {kind_of(wiring, unit) for unit in tried}
    of_target: dict[str, int] = {}
    ranked: list[tuple[int, int, int, str]] = []
    computing = [unit for unit in wiring.units if unit not in wiring.numbers]
    for cost, place, unit in sorted((_cost(wiring, unit), wiring.place[unit], unit) for unit in computing):
        kind, target = kind_of(wiring, unit), wiring.nodes[unit].target
        if kind not in known:
            known.add(kind)
            ranked.append((of_target.get(target, 0), cost, place, unit))
            of_target[target] = of_target.get(target, 0) + 1
    return [unit for *_, unit in sorted(ranked)]


def _one_per_kind(wiring: Wiring, units: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for unit in units:
        found.setdefault(kind_of(wiring, unit), unit)
    return list(found.values())


def _cost(wiring: Wiring, unit: str) -> int:
    """Elements that the unit reads and writes."""
    names = {name for member in wiring.members[unit] for name in (member, *wiring.reads[member])}
    return sum(elements(wiring.metas[name]) for name in names if name in wiring.metas)


def _around(driver: Judge[Candidate], start: Candidate, wiring: Wiring, suspects: Sequence[str]) -> Candidate | None:
    """The suspects with their nearest producers and consumers, in growing numbers of hops, up to half the graph."""
    for suspect in suspects:
        hops = wiring.distances(suspect, forward=True)
        balls = [[unit for unit, distance in hops.items() if distance <= radius] for radius in GROWN_RADII]
        found = driver.first(start.some(ball for ball in balls if 2 * len(ball) <= len(wiring.units)))
        if found is not None:
            return found
    return None


def _shortest_prefix(driver: Judge[Candidate], whole: Candidate) -> Candidate:
    """The first operations of a failing graph, as few as fail.

    Long prefixes are dear, above all those that pass. So once the end is known roughly, the operations right before it are
    asked alone; if they fail, the bisection goes on in that small graph.
    """
    units = Wiring(whole.case).units
    prefix_of = _growing(whole, [], units)
    found, low, high, ratio = whole, 0, len(units), WINDOW
    while high - low > 1:
        if high >= ratio * (high - low):
            ratio *= WINDOW
            window = whole.kept(units[max(0, low - (high - low)) : high])
            if window is not None and driver.fails(window):
                return _shortest_prefix(driver, window)
        driver.ahead(present(prefix_of(count) for count in next_points(low, high)))
        middle = (low + high) // 2
        shorter = prefix_of(middle)
        if shorter is not None and driver.fails(shorter):
            found, high = shorter, middle
        else:
            low = middle
    return found


def _backwards(driver: Judge[Candidate], prefix: Candidate, wiring: Wiring, sink: str) -> Candidate:
    """The sink with its producers, hop by hop, then with what it does not depend on: as few as fail."""
    hops = wiring.distances(sink, forward=False)
    far = len(wiring.units)
    order = sorted(wiring.units, key=lambda unit: (hops.get(unit, far), -wiring.place[unit]))[1:]
    depth = max(hops.values())
    radii = [0, *gallop(0, depth), depth]
    counts = [sum(1 for unit in order if hops.get(unit, far) <= radius) for radius in radii]
    return narrowed(driver, prefix, order, [sink], milestones=counts)


def narrowed(
    driver: Judge[Candidate],
    whole: Candidate,
    order: Sequence[str],
    needed: Sequence[str],
    milestones: Sequence[int] = (),
) -> Candidate:
    """A small failing part of a failing candidate that consists of the units `needed` and `order`.

    Takes as many units from the front of `order` as it needs to fail (probing the counts of `milestones` first); the last
    one taken is needed, and those before it are narrowed in the same way. Where m of n operations are needed, that asks
    about m * log2(n) questions. Stops at a size where taking out one after the other is cheaper, or where little is gained:
    what depends on an unbroken path has no part that fails, only shorter paths.
    """
    kept, rest, before = list(needed), list(order), 2 * len(order)
    while rest:
        if kept:
            alone = driver.first(_only(whole, kept, rest))
            if alone is not None:
                return alone
        if len(kept) > 1 and (len(rest) <= SMALL or 4 * len(rest) > 3 * before):
            break
        before = len(rest)
        count, whole = _least(driver, len(rest), _growing(whole, kept, rest), milestones)
        milestones = ()
        kept, rest = [*kept, rest[count - 1]], rest[: count - 1]
    return whole


def _only(whole: Candidate, kept: Sequence[str], rest: Sequence[str]) -> Iterator[Candidate]:
    """Without the rest: cut off, or bypassed, so that what is kept still depends on each other."""
    return present(iter((whole.kept(kept), whole.maybe(Bypass(tuple(rest))))))


def _growing(whole: Candidate, kept: Sequence[str], rest: Sequence[str]) -> Callable[[int], Candidate | None]:
    """What is kept and so many of the rest; all of the rest is the whole."""
    return lambda count: whole if count == len(rest) else whole.kept([*kept, *rest[:count]])


def _least(
    driver: Judge[Candidate],
    count: int,
    candidate_at: Callable[[int], Candidate | None],
    milestones: Sequence[int] = (),
) -> tuple[int, Candidate]:
    """The least number whose candidate fails, given that `count` fails and 0 does not; and that candidate."""
    failing = {count: candidate_at(count)}

    def fails(number: int) -> bool:
        candidate = candidate_at(number)
        if candidate is None or not driver.fails(candidate):
            return False
        failing[number] = candidate
        return True

    def ahead(numbers: Iterable[int]) -> None:
        driver.ahead(present(candidate_at(number) for number in numbers))

    low, high = 0, count
    steps = [number for number in dict.fromkeys(milestones) if 0 < number < count]
    for place, number in enumerate(steps):
        ahead(steps[place:])
        if fails(number):
            high = number
            break
        low = number
    least = boundary(low, high, fails, ahead)
    found = failing[least]
    assert found is not None
    return least, found
