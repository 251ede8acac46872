"""The first operation of the program's own graph at which compiled and eager differ, found by bisecting its prefixes.

A prefix is the graph up to some operation, compiled and compared by itself. It returns all that the rest of the graph reads, so
that nothing wrong is hidden by what follows, and a difference of any kind counts; for a wrong gradient the backward pass
begins there. The reproducer says which operation it could be; whether it is that one in the program is asked here, on the
program's own values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from triage.culprit.inquiry import Inquiry
from triage.judge.boundary import next_points
from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.accuracy import WrongResult
from triage.model.effects import changed, viewed
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.slices import keep
from triage.reduce.graph.wiring import Wiring

MOST_GUESSES = 3
MOST = 24  # questions; bisecting a thousand operations takes ten


@dataclass(frozen=True)
class Diverging:
    """Up to the operation before `node` the values agree, with it they do not. `place` counts from 1.

    `wrong` is what is wrong with its own result, on the program's own values. Where the operation `before` which it stands only
    overwrites that result, which it does not in eager, `place` is where that one stands.
    """

    node: GraphNode
    place: int
    operations: int
    questions: int
    wrong: WrongResult | None = None
    before: GraphNode | None = None


def first_diverging(wholes: Iterable[Candidate], likely: Sequence[GraphNode], inquiry: Inquiry) -> Diverging | None:
    """Bisect the first of these graphs that is wrong as a whole, looking at the `likely` operations first.

    None where none is wrong as a whole, where it has one operation, where no neighbours could be told apart, or in time.
    """
    for whole in wholes:
        prefixes = _Prefixes(whole, inquiry)
        if len(prefixes.units) < 2:
            continue
        found = prefixes.searched(likely)
        if found is not None or inquiry.budget.spent():
            return found
    return None


def in_its_body(found: Diverging, case: GraphCase, likely: Sequence[GraphNode]) -> Diverging:
    """With one of the `likely` operations in the place of a call that holds it in its body (that of a checkpoint)."""
    lines = {(node.target, node.where) for node in likely}
    held = _held_by(found.node, {graph.name: graph for graph in case.subgraphs})
    inner = next((node for node in held if (node.target, node.where) in lines), None)
    return replace(found, node=inner) if inner is not None else found


def _held_by(node: GraphNode, known: dict[str, SubGraph]) -> Iterator[GraphNode]:
    for name in (*trees.graphs(node.args), *trees.graphs(node.kwargs)):
        for inner in known[name].nodes if name in known else ():
            yield inner
            yield from _held_by(inner, known)


class _Prefixes:
    """What is known of each number of operations."""

    def __init__(self, whole: Candidate, inquiry: Inquiry) -> None:
        self._whole, self._inquiry = whole, inquiry
        self._wiring = Wiring(whole.case)
        self.units, self._nodes = self._wiring.units, self._wiring.nodes
        self._known: dict[int, Verdict] = {0: Verdict.NO_FAILURE}
        self._wrongs: dict[int, tuple[WrongResult, ...]] = {}
        self._asked = 0

    def searched(self, likely: Sequence[GraphNode]) -> Diverging | None:
        for place in self._places(likely):
            if self._fails(place) and self._judged(place - 1) is Verdict.NO_FAILURE:
                return self._found(place)
        if not self._fails(len(self.units)):
            return None
        while self._may_ask():
            low, high = self._bounds()
            if high - low == 1:
                return self._found(high)
            untold = [point for point in next_points(low, high) if point not in self._known]
            if not untold:
                return None
            self._judged(untold[0])
        return None

    def _places(self, likely: Sequence[GraphNode]) -> list[int]:
        """Where the likely operations stand, by their lines, else the first of their kind; others are found by bisection."""
        lines = {(node.target, node.where) for node in likely}
        targets = {target for target, _ in lines}
        nodes = [self._nodes[unit] for unit in self.units]
        same = [place for place, node in enumerate(nodes, 1) if (node.target, node.where) in lines]
        kind = [place for place, node in enumerate(nodes, 1) if node.target in targets]
        return (same or kind)[:MOST_GUESSES]

    def _bounds(self) -> tuple[int, int]:
        """The least number that is known to fail, and the greatest below it that is known to pass."""
        high = min(place for place, verdict in self._known.items() if verdict is Verdict.SAME_FAILURE)
        low = max(place for place, verdict in self._known.items() if verdict is Verdict.NO_FAILURE and place < high)
        return low, high

    def _found(self, place: int) -> Diverging:
        node = self._nodes[self.units[place - 1]]
        wrong = self._wrong_with(node, place)
        spoilt = self._spoilt_by(node, place) if wrong is None else None
        if spoilt is not None:
            return Diverging(spoilt, place, len(self.units), self._asked, self._wrong_with(spoilt, place), node)
        return Diverging(node, place, len(self.units), self._asked, wrong)

    def _wrong_with(self, node: GraphNode, place: int) -> WrongResult | None:
        """What is wrong with the result of this operation in the prefix."""
        returned = [trees.as_ref(output) for output in self._prefix(place).case.outputs]
        item = f"output {returned.index(node.name)}" if node.name in returned else ""
        return next((wrong for wrong in self._wrongs.get(place, ()) if wrong.item == item), None)

    def _spoilt_by(self, node: GraphNode, place: int) -> GraphNode | None:
        """The operation whose result is wrong as soon as this one changes, in place, what is no part of it."""
        targets = {self._memory(name) for name in changed(node)}
        earlier = [self._nodes[unit] for unit in self.units[: place - 1]]
        apart = (other for other in earlier if targets and self._memory(other.name) not in targets)
        return next((other for other in apart if self._wrong_with(other, place) is not None), None)

    def _memory(self, name: str | None) -> str | None:
        """The value that this one is a view of, by the names of operations; itself, if it is none."""
        while name in self._nodes and (base := viewed(self._nodes[name])) is not None:
            name = base
        return name

    def _fails(self, place: int) -> bool:
        return self._judged(place) is Verdict.SAME_FAILURE

    def _may_ask(self) -> bool:
        return self._asked < MOST and not self._inquiry.budget.spent()

    def _judged(self, place: int) -> Verdict:
        if place not in self._known:
            self._known[place] = self._answer(place)
        return self._known[place]

    def _answer(self, place: int) -> Verdict:
        source = None
        with suppress(RefusedError):
            source = self._prefix(place).text()
        result = self._inquiry.run(source) if self._may_ask() else None
        if result is None:
            return Verdict.UNRESOLVED
        self._asked += 1
        verdict = self._inquiry.oracle.judge(result).verdict
        self._wrongs[place] = result.notes.wrongs
        self._inquiry.emit(
            "prefix_asked",
            operations=place,
            of=len(self.units),
            outcome=verdict.value,
            seconds=round(result.outcome.seconds, 2),
        )
        return verdict

    def _prefix(self, place: int) -> Candidate:
        """Raises RefusedError."""
        if place == len(self.units):
            return self._whole
        return replace(self._whole, case=keep(self._wiring, self.units[:place], escaping=True))
