"""Keyword arguments dropped: all of an operation, then each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model.effects import operation
from triage.model.graphcase import GraphCase, GraphNode
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import EXPECTED, Choice, map_node
from triage.reduce.graph.slices import prune
from triage.reduce.graph.wiring import operations


@dataclass(frozen=True)
class DropKeywords:
    """An operation without some of its keyword arguments."""

    node: str
    keywords: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"without the keyword {', '.join(self.keywords)}"

    def apply(self, case: GraphCase) -> GraphCase:
        def change(node: GraphNode) -> GraphNode:
            return replace(node, kwargs={key: item for key, item in node.kwargs.items() if key not in self.keywords})

        return checked(case, prune(map_node(case, self.node, change)))


def propose(case: GraphCase) -> Iterator[Choice]:
    """All keyword arguments of an operation, then each."""
    for node in operations(case):
        names = tuple(name for name in node.kwargs if (operation(node), name) not in EXPECTED)
        if len(names) > 1:
            yield Choice(f"keywords {node.name}", (DropKeywords(node.name, names),))
        for name in names:
            yield Choice(f"keyword {node.name} {name}", (DropKeywords(node.name, (name,)),))
