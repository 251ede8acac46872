"""Nested graphs: the body written out in place of the operation that holds it, and bodies with less in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.effects import operation
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.graph.edits import Edit, checked, drop_dead, same_kind
from triage.reduce.graph.passes.proposal import Choice
from triage.reduce.graph.slices import border_input
from triage.reduce.graph.wiring import Wiring, is_pick, node_refs


@dataclass(frozen=True)
class Inline:
    """The body `graph` in place of the operation `node` that was given it."""

    node: str
    graph: str

    @property
    def what(self) -> str:
        return f"with the body {self.graph} written out"

    def apply(self, case: GraphCase) -> GraphCase:
        node = next((item for item in case.nodes if item.name == self.node), None)
        body = next((item for item in case.subgraphs if item.name == self.graph), None)
        if node is None or body is None:
            raise RefusedError(f"no {self.node} with a body {self.graph}")
        given = _operands(node, body)
        if given is None:
            raise RefusedError(f"it is not known what {self.node} passes to {self.graph}")
        inner = _renamed(body, self.node, dict(zip(body.inputs, given, strict=True)))
        results = inner.outputs if isinstance(inner.outputs, list) else _items(inner.outputs)
        replaced = _results(case, self.node, results)
        nodes: list[GraphNode] = []
        for item in case.nodes:
            if item.name == self.node:
                nodes.extend(inner.nodes)
            elif item.name not in replaced:
                nodes.append(_rewired(item, replaced))
        outputs = tuple(trees.rewrite(list(case.outputs), lambda name: replaced.get(name, trees.ref(name))))
        return checked(case, drop_dead(replace(case, nodes=tuple(nodes), outputs=outputs)))


@dataclass(frozen=True)
class Lift:
    """The body `graph` alone, as the whole case: what was passed to it becomes an input.

    The backward of an autograd.Function is code like any other; where it fails, it fails as a forward as well.
    """

    graph: str

    @property
    def what(self) -> str:
        return f"with {self.graph} alone"

    def apply(self, case: GraphCase) -> GraphCase:
        body = next((item for item in case.subgraphs if item.name == self.graph), None)
        if body is None or len(body.metas) != len(body.inputs):
            raise RefusedError(f"what {self.graph} is given was not recorded")
        read = {name for node in body.nodes for name in trees.refs([node.args, node.kwargs])}
        read.update(trees.refs(body.outputs))
        known = zip(body.inputs, body.metas, strict=True)
        inputs = tuple(border_input(name, meta) for name, meta in known if meta is not None and name in read)
        results = tuple(trees.ref(name) for name in dict.fromkeys(trees.refs(body.outputs)))
        lifted = replace(case, inputs=inputs, nodes=body.nodes, outputs=results, backward=False, backward_order=1)
        return checked(case, drop_dead(lifted))


@dataclass(frozen=True)
class BypassInner:
    """In the body `graph`, `node` is replaced by one of its arguments of the same shape and dtype."""

    graph: str
    node: str
    by: str

    @property
    def what(self) -> str:
        return f"with {self.node} bypassed in {self.graph}"

    def apply(self, case: GraphCase) -> GraphCase:
        def shorter(graph: SubGraph) -> SubGraph:
            if graph.name != self.graph:
                return graph
            replaced = {self.node: trees.ref(self.by)}
            nodes = tuple(_rewired(node, replaced) for node in graph.nodes if node.name != self.node)
            outputs = trees.rewrite(graph.outputs, lambda name: replaced.get(name, trees.ref(name)))
            return replace(graph, nodes=_alive(nodes, outputs), outputs=outputs)

        return checked(case, replace(case, subgraphs=tuple(shorter(graph) for graph in case.subgraphs)))


# Operators whose last argument is the tuple of what each of their bodies is given last.
_CAPTURING = frozenset({"cond", "while_loop", "scan", "associative_scan", "map_impl"})


@dataclass(frozen=True)
class DropOperands:
    """The operation `node` without the captured values that none of its bodies reads."""

    node: str

    @property
    def what(self) -> str:
        return f"without what no body of {self.node} reads"

    def apply(self, case: GraphCase) -> GraphCase:
        node = next((item for item in case.nodes if item.name == self.node), None)
        unread = _unread(case, node) if node is not None else []
        if node is None or not unread:
            raise RefusedError(f"every operand of {self.node} is read")
        items = _items(node.args[-1]) or []
        left = {"tuple": [item for place, item in enumerate(items) if place not in unread]}
        names = set(trees.graphs([node.args, node.kwargs]))

        def narrower(graph: SubGraph) -> SubGraph:
            if graph.name not in names:
                return graph
            first = len(graph.inputs) - len(items)
            kept = [place for place in range(len(graph.inputs)) if place - first not in unread]
            metas = tuple(graph.metas[place] for place in kept) if len(graph.metas) == len(graph.inputs) else ()
            return replace(graph, inputs=tuple(graph.inputs[place] for place in kept), metas=metas)

        thinner = replace(node, args=[*node.args[:-1], left])
        nodes = tuple(thinner if item is node else item for item in case.nodes)
        changed = replace(case, nodes=nodes, subgraphs=tuple(map(narrower, case.subgraphs)))
        return checked(case, drop_dead(changed))


def _unread(case: GraphCase, node: GraphNode) -> list[int]:
    """Places in the last argument of an operation that none of its bodies reads; none where that cannot be said."""
    items = _items(node.args[-1]) if node.args and operation(node) in _CAPTURING else None
    names = set(trees.graphs([node.args, node.kwargs]))
    others = (*case.nodes, *(inner for graph in case.subgraphs for inner in graph.nodes))
    shared = any(names & set(trees.graphs([other.args, other.kwargs])) for other in others if other is not node)
    bodies = [graph for graph in case.subgraphs if graph.name in names]
    if not items or not bodies or shared or any(len(graph.inputs) < len(items) for graph in bodies):
        return []
    read = [
        {*trees.refs(graph.outputs), *(name for inner in graph.nodes for name in node_refs(inner))} for graph in bodies
    ]
    return [
        place
        for place in range(len(items))
        if not any(
            graph.inputs[len(graph.inputs) - len(items) + place] in names_read
            for graph, names_read in zip(bodies, read, strict=True)
        )
    ]


def operands(case: GraphCase) -> Iterator[Choice]:
    """Operations that hold bodies, without the captured values that no body reads."""
    for node in case.nodes:
        if _unread(case, node):
            yield Choice(f"operands of {node.name}", (DropOperands(node.name),))


def inline(case: GraphCase) -> Iterator[Choice]:
    """Each operation that holds bodies, with one of them written out in its place."""
    for node in case.nodes:
        bodies: list[Edit] = [Inline(node.name, name) for name in trees.graphs([node.args, node.kwargs])]
        bodies += [Lift(name) for name in trees.graphs([node.args, node.kwargs])]
        if bodies:
            yield Choice(f"body of {node.name}", tuple(bodies))


def bodies(case: GraphCase) -> Iterator[Choice]:
    """Operations inside bodies, the last first."""
    for graph in case.subgraphs:
        metas = {node.name: node.out[0] for node in graph.nodes if len(node.out) == 1 and not node.multi}
        metas.update(_metas_of_inputs(case, graph))
        for node in reversed(graph.nodes):
            own = metas.get(node.name)
            fitting = [
                name
                for name in dict.fromkeys(trees.refs([node.args, node.kwargs]))
                if own is not None and ((meta := metas.get(name)) is None or same_kind(meta, own))
            ]
            if fitting:
                edits: tuple[Edit, ...] = tuple(BypassInner(graph.name, node.name, name) for name in fitting)
                yield Choice(f"inner {graph.name} {node.name}", edits)


def _metas_of_inputs(case: GraphCase, graph: SubGraph) -> dict[str, Any]:
    """What the operation that holds the body passes to it, as far as that is known."""
    recorded = {name: meta for name, meta in zip(graph.inputs, graph.metas, strict=False) if meta is not None}
    if recorded:
        return recorded
    outer = Wiring(case).metas
    for node in case.nodes:
        if graph.name in trees.graphs([node.args, node.kwargs]):
            given = _operands(node, graph) or []
            names = [trees.as_ref(tree) for tree in given]
            return {inner: outer[name] for inner, name in zip(graph.inputs, names, strict=False) if name in outer}
    return {}


def _operands(node: GraphNode, body: SubGraph) -> list[Any] | None:
    """What an operation passes to a body: its list of operands (cond, while_loop), or what follows the body (wrap)."""
    for tree in node.args:
        items = _items(tree)
        if items is not None and len(items) == len(body.inputs) and not any(trees.graphs(tree)):
            return items
    last = max((index for index, tree in enumerate(node.args) if any(trees.graphs(tree))), default=-1)
    rest = list(node.args[last + 1 :])
    return rest if last >= 0 and len(rest) == len(body.inputs) else None


def _items(tree: Any) -> list[Any] | None:
    if isinstance(tree, dict) and set(tree) == {"tuple"}:
        tree = tree["tuple"]
    return list(tree) if isinstance(tree, (list, tuple)) else None


def _renamed(body: SubGraph, prefix: str, given: dict[str, Any]) -> SubGraph:
    names = {node.name: f"{prefix}_{node.name}" for node in body.nodes}

    def resolve(name: str) -> Any:
        return given[name] if name in given else trees.ref(names.get(name, name))

    nodes = tuple(
        replace(
            node,
            name=names[node.name],
            args=trees.rewrite(node.args, resolve),
            kwargs=trees.rewrite(node.kwargs, resolve),
        )
        for node in body.nodes
    )
    return replace(body, nodes=nodes, outputs=trees.rewrite(body.outputs, resolve))


def _results(case: GraphCase, name: str, results: list[Any] | None) -> dict[str, Any]:
    """What the operation and the picks of its result stand for once its body is written out."""
    if results is None:
        raise RefusedError("the body does not return a tuple")
    replaced: dict[str, Any] = {name: {"tuple": results}}
    for node in case.nodes:
        if is_pick(node) and trees.as_ref(node.args[0]) == name:
            index = node.args[1]
            if not -len(results) <= index < len(results):
                raise RefusedError("the body returns fewer values than are read")
            replaced[node.name] = results[index]
    if len(results) == 1:
        replaced[name] = results[0]
    return replaced


def _rewired(node: GraphNode, replaced: dict[str, Any]) -> GraphNode:
    def resolve(name: str) -> Any:
        return replaced.get(name, trees.ref(name))

    return replace(node, args=trees.rewrite(node.args, resolve), kwargs=trees.rewrite(node.kwargs, resolve))


def _alive(nodes: tuple[GraphNode, ...], outputs: Any) -> tuple[GraphNode, ...]:
    """The nodes of a body that its outputs need."""
    needed, kept = set(trees.refs(outputs)), []
    for node in reversed(nodes):
        if node.name in needed:
            needed.update(trees.refs([node.args, node.kwargs]))
            kept.append(node)
    return tuple(reversed(kept))
