"""Fewer operations inside nested graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.model import trees
from triage.model.graphcase import GraphCase, SubGraph, TensorMeta
from triage.reduce.graph.edits import Edit, checked, same_kind
from triage.reduce.graph.nested import operands_of
from triage.reduce.graph.passes.proposal import Choice
from triage.reduce.graph.wiring import Wiring
from triage.reduce.printing.body import live_nodes


@dataclass(frozen=True)
class BypassInner:
    """In the body `graph`, `node` is replaced by one of its arguments of the same shape and dtype.

    What the body does to values from outside is done still.
    """

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
            nodes = tuple(node.rewired(replaced) for node in graph.nodes if node.name != self.node)
            outputs = trees.rewrite(graph.outputs, lambda name: replaced.get(name, trees.ref(name)))
            return replace(graph, nodes=tuple(live_nodes(nodes, outputs)), outputs=outputs)

        return checked(case, replace(case, subgraphs=tuple(shorter(graph) for graph in case.subgraphs)))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Operations inside bodies, the last first."""
    for graph in case.subgraphs:
        metas = {node.name: node.out[0] for node in graph.nodes if len(node.out) == 1 and not node.multi}
        metas.update(_metas_of_inputs(case, graph))
        for node in reversed(graph.nodes):
            own = metas.get(node.name)
            fitting = [
                name
                for name in dict.fromkeys(trees.refs([node.args, node.kwargs]))
                if own is not None and ((meta := metas.get(name)) is None or _may_stand_for(meta, own))
            ]
            if fitting:
                edits: tuple[Edit, ...] = tuple(BypassInner(graph.name, node.name, name) for name in fitting)
                yield Choice(f"inner {graph.name} {node.name}", edits)


def _may_stand_for(meta: TensorMeta, own: TensorMeta) -> bool:
    """Of one element the rank is not known: that of the inputs was reduced, what is recorded inside of bodies was not."""
    single = meta.dtype == own.dtype and {*meta.shape, *own.shape} <= {1}
    return single or same_kind(meta, own)


def _metas_of_inputs(case: GraphCase, graph: SubGraph) -> dict[str, Any]:
    """What the operation that holds the body passes to it, as far as that is known."""
    recorded = {name: meta for name, meta in zip(graph.inputs, graph.metas, strict=False) if meta is not None}
    if recorded:
        return recorded
    outer = Wiring(case).metas
    for node in case.nodes:
        if graph.name in trees.graphs([node.args, node.kwargs]):
            given = operands_of(node, graph) or []
            names = [trees.as_ref(tree) for tree in given]
            return {inner: outer[name] for inner, name in zip(graph.inputs, names, strict=False) if name in outer}
    return {}
