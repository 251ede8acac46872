"""Cheap structural checks that refuse a case before anything is run.

They ask what data alone can answer: every reference is defined before it is read, names are unique, something is
returned or changed, nothing opaque is left, and a backward pass has something to differentiate. Shapes are not checked here: a
candidate runs eagerly first, in a warm interpreter, which costs less than an imitation of PyTorch's shape rules.
"""

from __future__ import annotations

from triage.model import trees
from triage.model.effects import changed
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.graph.slices import is_floating


def flaw(case: GraphCase) -> str:
    """Why the case cannot be a script; empty where nothing speaks against it."""
    known: set[str] = set()
    for item in case.inputs:
        if item.name in known:
            return f"two values are called {item.name}"
        if item.kind == "opaque":
            return f"the input {item.name} cannot be written down"
        if item.kind == "tensor" and item.meta is None:
            return f"nothing is known of the input {item.name}"
        if item.base is not None and item.base not in known:
            return f"{item.name} is a view of {item.base}, which is not there"
        known.add(item.name)
    graphs = {graph.name: graph for graph in case.subgraphs}
    reason = _nodes(case.nodes, known, graphs)
    if reason:
        return reason
    returned = set(trees.refs(list(case.outputs)))
    if not returned and not any(changed(node) for node in case.nodes):
        return "nothing is returned, or changed"
    if not returned <= known:
        return f"{sorted(returned - known)[0]} is returned but never computed"
    for graph in case.subgraphs:
        reason = _subgraph(graph, graphs)
        if reason:
            return reason
    if case.backward and not any(_differentiable(case, name) for name in known):
        return "the backward pass has no input that requires grad"
    return ""


def _nodes(nodes: tuple[GraphNode, ...], known: set[str], graphs: dict[str, SubGraph]) -> str:
    """Adds the names of the nodes to `known`."""
    for node in nodes:
        if node.opaque:
            return f"{node.name} cannot be printed: {node.opaque}"
        for name in node.reads:
            if name not in known:
                return f"{node.name} reads {name}, which is not there"
        for name in trees.graphs([node.args, node.kwargs]):
            if name not in graphs:
                return f"{node.name} needs the nested graph {name}, which is not there"
        if node.name in known:
            return f"two values are called {node.name}"
        known.add(node.name)
    return ""


def _subgraph(graph: SubGraph, graphs: dict[str, SubGraph]) -> str:
    known = set(graph.inputs)
    reason = _nodes(graph.nodes, known, graphs)
    if reason:
        return f"in {graph.name}: {reason}"
    missing = set(trees.refs(graph.outputs)) - known
    return f"in {graph.name}: {sorted(missing)[0]} is returned but never computed" if missing else ""


def _differentiable(case: GraphCase, name: str) -> bool:
    for item in case.inputs:
        if item.name == name and item.meta is not None:
            return item.meta.requires_grad and is_floating(item.meta.dtype)
    return False
