"""Operations that hold a nested graph: what they pass to it, and their results under other names."""

from __future__ import annotations

from typing import Any

from triage.model import trees
from triage.model.graphcase import GraphNode, SubGraph


def operands_of(node: GraphNode, body: SubGraph) -> list[Any] | None:
    """What an operation passes to a body: its list of operands (cond, while_loop), or what follows the body (wrap)."""
    for tree in node.args:
        items = elements_of(tree)
        if items is not None and len(items) == len(body.inputs) and not any(trees.graphs(tree)):
            return items
    last = max((index for index, tree in enumerate(node.args) if any(trees.graphs(tree))), default=-1)
    rest = list(node.args[last + 1 :])
    return rest if last >= 0 and len(rest) == len(body.inputs) else None


def elements_of(tree: Any) -> list[Any] | None:
    """The elements of a tuple or list of arguments, None of anything else."""
    if isinstance(tree, dict) and set(tree) == {"tuple"}:
        tree = tree["tuple"]
    return list(tree) if isinstance(tree, (list, tuple)) else None
