"""Fewer values captured by nested graphs, or given to a region that is called, no block masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.effects import operation
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.graph.edits import checked, drop_dead
from triage.reduce.graph.nested import elements_of
from triage.reduce.graph.passes.proposal import Choice, map_node, node_named

# Operators whose last argument is the tuple of what each of their bodies is given last.
_CAPTURING = frozenset({"cond", "while_loop", "scan", "associative_scan", "map_impl"})
_REGION = "invoke_subgraph"  # of which several calls have one graph
_GIVEN = 2  # arguments of it, its graph and an identifier, come before what that is given
_MASK, _READ_BY_MASK = 4, 8  # arguments of flex_attention


@dataclass(frozen=True)
class DropOperands:
    """The operation `node` without the captured values that none of its bodies reads."""

    node: str

    @property
    def what(self) -> str:
        return f"without what no body of {self.node} reads"

    def apply(self, case: GraphCase) -> GraphCase:
        node = node_named(case, self.node)
        unread = _unread(case, node)
        if not unread:
            raise RefusedError(f"every operand of {self.node} is read")
        items = elements_of(node.args[-1]) or []
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


@dataclass(frozen=True)
class DropParameters:
    """The region `graph` without the parameters that it does not read, and its calls without what they give for these."""

    graph: str

    @property
    def what(self) -> str:
        return f"without what {self.graph} does not read"

    def apply(self, case: GraphCase) -> GraphCase:
        body = next((graph for graph in case.subgraphs if graph.name == self.graph), None)
        unread = _unread_parameters(case, body) if body is not None else []
        if body is None or not unread:
            raise RefusedError(f"every parameter of {self.graph} is read")
        kept = [place for place in range(len(body.inputs)) if place not in unread]
        metas = tuple(body.metas[place] for place in kept) if len(body.metas) == len(body.inputs) else ()
        thinner = replace(body, inputs=tuple(body.inputs[place] for place in kept), metas=metas)

        def called(node: GraphNode) -> GraphNode:
            if not _calls(node, self.graph):
                return node
            return replace(node, args=[*node.args[:_GIVEN], *(node.args[_GIVEN + place] for place in kept)])

        graphs = (thinner if graph is body else graph for graph in case.subgraphs)
        graphs = (replace(graph, nodes=tuple(map(called, graph.nodes))) for graph in graphs)
        changed = replace(case, nodes=tuple(map(called, case.nodes)), subgraphs=tuple(graphs))
        return checked(case, drop_dead(changed))


@dataclass(frozen=True)
class DropMask:
    """The flex_attention `node` over all pairs. What makes a mask of none is part of the graph as Dynamo captures it."""

    node: str

    @property
    def what(self) -> str:
        return f"without the block mask of {self.node}"

    def apply(self, case: GraphCase) -> GraphCase:
        if not any(node.name == self.node and _is_masked(node) for node in case.nodes):
            raise RefusedError(f"{self.node} has no block mask")

        def bare(node: GraphNode) -> GraphNode:
            args = [{"tuple": []} if place in (_MASK, _READ_BY_MASK) else item for place, item in enumerate(node.args)]
            return replace(node, args=args)

        return checked(case, drop_dead(map_node(case, self.node, bare)))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Operations that hold bodies, without the captured values that no body reads; regions, without such parameters."""
    for graph in case.subgraphs:
        if _unread_parameters(case, graph):
            yield Choice(f"parameters of {graph.name}", (DropParameters(graph.name),))
    for node in case.nodes:
        if _is_masked(node):
            yield Choice(f"mask of {node.name}", (DropMask(node.name),))
        if _unread(case, node):
            yield Choice(f"operands of {node.name}", (DropOperands(node.name),))


def _is_masked(node: GraphNode) -> bool:
    return operation(node) == "flex_attention" and len(node.args) > _MASK and any(trees.refs(node.args[_MASK]))


def _calls(node: GraphNode, graph: str) -> bool:
    return operation(node) == _REGION and bool(node.args) and list(trees.graphs(node.args[0])) == [graph]


def _unread_parameters(case: GraphCase, body: SubGraph) -> list[int]:
    """Places of the parameters that a region does not read; none where something else than calls of it holds its graph."""
    nodes = (*case.nodes, *(inner for graph in case.subgraphs for inner in graph.nodes))
    holding = [node for node in nodes if body.name in trees.graphs([node.args, node.kwargs])]
    if not all(_calls(node, body.name) and len(node.args) == _GIVEN + len(body.inputs) for node in holding):
        return []
    read = {*trees.refs(body.outputs), *(name for inner in body.nodes for name in inner.reads)}
    return [place for place, name in enumerate(body.inputs) if name not in read] if holding else []


def _unread(case: GraphCase, node: GraphNode) -> list[int]:
    """Places in the last argument of an operation that none of its bodies reads; none where that cannot be said."""
    items = elements_of(node.args[-1]) if node.args and operation(node) in _CAPTURING else None
    names = set(trees.graphs([node.args, node.kwargs]))
    others = (*case.nodes, *(inner for graph in case.subgraphs for inner in graph.nodes))
    shared = any(names & set(trees.graphs([other.args, other.kwargs])) for other in others if other is not node)
    bodies = [graph for graph in case.subgraphs if graph.name in names]
    if not items or not bodies or shared or any(len(graph.inputs) < len(items) for graph in bodies):
        return []
    read = [{*trees.refs(graph.outputs), *(name for inner in graph.nodes for name in inner.reads)} for graph in bodies]
    return [
        place
        for place in range(len(items))
        if not any(
            graph.inputs[len(graph.inputs) - len(items) + place] in names_read
            for graph, names_read in zip(bodies, read, strict=True)
        )
    ]
