"""Lines in the body of a higher-order operator (`scan`, `torch.cond`, a nested region): it is compiled as one or not at all.

Dynamo refuses the whole program where a call in such a body is left uncompiled (`UncapturedHigherOrderOpError`), or its function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from triage.model import trees
from triage.model.graphcase import GraphCase, GraphNode, SubGraph

# Those that only run what they hold let it be left uncompiled (a checkpoint, an autograd.Function).
_COMPILED_AS_ONE = re.compile(
    r"(?:^|\.)(?:cond|while_loop|scan|associative_scan|map_impl|flex_attention|invoke_subgraph)$"
)


def calls_around(cases: Iterable[GraphCase]) -> dict[str, str]:
    """By each line that stands only in such bodies, the line of the outermost call around it, both as graphs tell lines."""
    found: dict[str, str] = {}
    elsewhere: set[str] = set()
    for case in cases:
        for node, call in _nodes(case.nodes, {graph.name: graph for graph in case.subgraphs}, ""):
            if call:
                found.setdefault(node.where, call)
            else:
                elsewhere.add(node.where)
    return {line: call for line, call in found.items() if line and line not in elsewhere}


def _nodes(nodes: Sequence[GraphNode], known: dict[str, SubGraph], call: str) -> Iterator[tuple[GraphNode, str]]:
    """All operations, each with the line of the call whose body it is in; empty where in none."""
    for node in nodes:
        yield node, call
        around = call or (node.where if _COMPILED_AS_ONE.search(node.target) else "")
        for name in (*trees.graphs(node.args), *trees.graphs(node.kwargs)):
            if name in known:
                yield from _nodes(known[name].nodes, known, around)
