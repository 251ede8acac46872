"""Fewer values that a loop hands from one round to the next, or captures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.effects import operation
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.graph.edits import checked, drop_dead, same_kind
from triage.reduce.graph.nested import elements_of
from triage.reduce.graph.passes.proposal import Choice, node_named
from triage.reduce.graph.wiring import is_pick
from triage.reduce.printing.body import live_nodes


class Loop(NamedTuple):
    """A `while_loop`: what it is given first and hands on, what it captures, and its two bodies, which are given both."""

    carried: list[Any]
    captured: list[Any]
    condition: SubGraph
    body: SubGraph


@dataclass(frozen=True)
class DropInput:
    """The bodies of the loop `node` lose their input at `place`; where they read it, they read that at `stand`."""

    node: str
    place: int
    stand: int | None = None

    @property
    def what(self) -> str:
        return f"without input {self.place} of the bodies of {self.node}"

    def apply(self, case: GraphCase) -> GraphCase:
        node = node_named(case, self.node)
        loop = _loop(case, node)
        if loop is None or self.place >= len(loop.body.inputs):
            raise RefusedError(f"{self.node} is no such loop")
        count = len(loop.carried)
        is_carried = self.place < count
        carried, captured = [
            {"tuple": [item for place, item in enumerate(items, first) if place != self.place]}
            for items, first in ((loop.carried, 0), (loop.captured, count))
        ]
        left = [meta for place, meta in enumerate(node.out) if not is_carried or place != self.place]
        smaller = replace(node, args=[*node.args[:2], carried, captured], out=left)
        bodies = {
            loop.condition.name: self._without(loop.condition, loop.condition.outputs),
            loop.body.name: self._without(loop.body, self._handed_on(loop.body) if is_carried else loop.body.outputs),
        }
        nodes = [smaller if item is node else item for item in case.nodes]
        if is_carried:
            nodes = [moved for item in nodes if (moved := self._pick(item)) is not None]
        subgraphs = tuple(bodies.get(graph.name, graph) for graph in case.subgraphs)
        return checked(case, drop_dead(replace(case, nodes=tuple(nodes), subgraphs=subgraphs)))

    def _handed_on(self, body: SubGraph) -> Any:
        items = elements_of(body.outputs) or []
        return {"tuple": [item for place, item in enumerate(items) if place != self.place]}

    def _without(self, graph: SubGraph, outputs: Any) -> SubGraph:
        """The body without the input. `checked` refuses it where that is read and nothing stands for it."""
        gone = graph.inputs[self.place]
        replaced = {} if self.stand is None else {gone: trees.ref(graph.inputs[self.stand])}
        outputs = trees.rewrite(outputs, lambda name: replaced.get(name, trees.ref(name)))
        nodes = live_nodes([node.rewired(replaced) for node in graph.nodes], outputs)
        inputs, metas = list(graph.inputs), list(graph.metas)
        del inputs[self.place]
        if len(metas) > len(inputs):
            del metas[self.place]
        return replace(graph, inputs=tuple(inputs), metas=tuple(metas), nodes=tuple(nodes), outputs=outputs)

    def _pick(self, item: GraphNode) -> GraphNode | None:
        """An operation that may take one of the loop's results; None where it is the one that goes."""
        if not is_pick(item) or trees.as_ref(item.args[0]) != self.node or item.args[1] < self.place:
            return item
        return None if item.args[1] == self.place else replace(item, args=[item.args[0], item.args[1] - 1])


def propose(case: GraphCase) -> Iterator[Choice]:
    """Each input of the bodies of a loop, the last first; what they read of it they read of another of its kind."""
    for node in case.nodes:
        loop = _loop(case, node)
        if loop is None:
            continue
        for place in reversed(range(len(loop.body.inputs))):
            if place >= len(loop.carried) or len(loop.carried) > 1:
                edit = DropInput(node.name, place, _stand(loop, place))
                if edit.stand is not None or not _is_read(loop, place):
                    yield Choice(f"input {place} of {node.name}", (edit,))


def _stand(loop: Loop, place: int) -> int | None:
    """The first other input of the kind of this one, where it is read."""
    metas = loop.body.metas
    own = metas[place] if len(metas) == len(loop.body.inputs) else None
    if own is None or not _is_read(loop, place):
        return None
    others = (other for other, meta in enumerate(metas) if other != place and meta is not None and same_kind(meta, own))
    return next(others, None)


def _is_read(loop: Loop, place: int) -> bool:
    """Whether more than what becomes of it itself hangs on it."""
    handed_on = elements_of(loop.body.outputs) or []
    others = [item for at, item in enumerate(handed_on) if at != place]
    for graph, outputs in ((loop.condition, loop.condition.outputs), (loop.body, others)):
        read = {name for node in live_nodes(graph.nodes, outputs) for name in node.reads} | set(trees.refs(outputs))
        if graph.inputs[place] in read:
            return True
    return False


def _loop(case: GraphCase, node: GraphNode) -> Loop | None:
    """The loop that an operation is, where its bodies are its own and are given what it has; else None."""
    if operation(node) != "while_loop" or len(node.args) != 4:
        return None
    carried, captured = elements_of(node.args[2]), elements_of(node.args[3])
    names = list(trees.graphs(node.args[:2]))
    inner = [item for graph in case.subgraphs for item in graph.nodes]
    others = [each for each in (*case.nodes, *inner) if each is not node]
    shared = {name for each in others for name in trees.graphs([each.args, each.kwargs])} & {*names}
    graphs = {graph.name: graph for graph in case.subgraphs}
    if carried is None or captured is None or len(set(names)) != 2 or shared or not {*names} <= {*graphs}:
        return None
    condition, body = (graphs[name] for name in names)
    given = len(carried) + len(captured)
    fits = len(condition.inputs) == len(body.inputs) == given and len(elements_of(body.outputs) or []) == len(carried)
    return Loop(carried, captured, condition, body) if fits else None
