"""The canonical form of a case: equal for two cases that differ in nothing but names and records.

Values are renumbered in the order they appear, sub-graphs likewise; what only documents (source lines, recorded results,
the graph's own name) is left out. It is the key of the memo, so no candidate is ever run twice under two names.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from triage.model import trees
from triage.model.codec import encode
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.reduce.graph.wiring import Wiring


def canonical(case: GraphCase) -> str:
    """A short text that is the same for two cases with the same meaning."""
    names: dict[str, str] = {}
    for item in case.inputs:
        names[item.name] = f"v{len(names)}"
    graphs = {graph.name: f"g{index}" for index, graph in enumerate(case.subgraphs)}
    inputs = []
    for item in case.inputs:
        plain = encode(item)
        plain.update(name=names[item.name], base=names.get(item.base or ""), source="")
        inputs.append(plain)
    nodes = _nodes(case.nodes, names, graphs)
    for item, plain in zip(case.inputs, inputs, strict=True):
        plain.update(gradient_of=names.get(item.gradient_of or ""))
    form = {
        "inputs": inputs,
        "nodes": nodes,
        "outputs": _renamed(list(case.outputs), names, graphs),
        "backward": case.backward,
        "context": encode(case.context),
        "preamble": case.preamble,
        "prepared": case.prepared,
        "subgraphs": [_subgraph(graph, graphs) for graph in case.subgraphs],
        "backend": case.backend_code or case.backend,
        "unprintable": case.unprintable,
    }
    return hashlib.sha256(json.dumps(form, sort_keys=True, default=str).encode()).hexdigest()


def kind_of(wiring: Wiring, unit: str) -> str:
    """What makes two single operations the same test: target, constant arguments, and dtype and rank of each tensor read."""
    node = wiring.nodes[unit]

    def show(name: str) -> Any:
        meta = wiring.metas.get(name)
        if meta is not None:
            return [meta.dtype, len(meta.shape), meta.requires_grad]
        return wiring.numbers.get(name, "?")

    arguments = trees.rewrite([node.args, node.kwargs], show)
    return json.dumps([node.kind, node.target, arguments], sort_keys=True, default=str)


def _nodes(nodes: tuple[GraphNode, ...], names: dict[str, str], graphs: dict[str, str]) -> list[Any]:
    shown = []
    for node in nodes:
        arguments = _renamed([node.args, node.kwargs], names, graphs)
        names[node.name] = f"v{len(names)}"
        shown.append([names[node.name], node.kind, node.target, arguments, node.multi, node.opaque])
    return shown


def _subgraph(graph: SubGraph, graphs: dict[str, str]) -> Any:
    names = {name: f"v{index}" for index, name in enumerate(graph.inputs)}
    nodes = _nodes(graph.nodes, names, graphs)
    return [graphs[graph.name], len(graph.inputs), nodes, _renamed(graph.outputs, names, graphs)]


def _renamed(tree: Any, names: dict[str, str], graphs: dict[str, str]) -> Any:
    def renamed(item: Any) -> Any:
        graph = item.get("graph") if isinstance(item, dict) and len(item) == 1 else None
        return {"graph": graphs.get(graph, graph)} if isinstance(graph, str) else item

    return trees.mapped(trees.rewrite(tree, lambda name: {"ref": names.get(name, name)}), renamed)
