"""The operations of a case whose arguments may change."""

from __future__ import annotations

from triage.model.graphcase import GraphCase, GraphNode
from triage.reduce.graph.wiring import Wiring

# Keywords whose absence PyTorch warns about.
EXPECTED = frozenset({("softmax", "dim"), ("log_softmax", "dim"), ("softmin", "dim"), ("meshgrid", "indexing")})


def operations(case: GraphCase) -> list[GraphNode]:
    """Nodes that compute something, nested ones included; not picks of a tuple, sizes or mode switches."""
    wiring = Wiring(case)
    units = {unit for unit in wiring.units if unit not in wiring.numbers}
    inner = [node for graph in case.subgraphs for node in graph.nodes]
    return [node for node in case.nodes if node.name in units] + inner
