"""Numbers written into the graph in place of inputs for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model import trees
from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import Choice, map_nodes
from triage.reduce.graph.slices import literal, prune


@dataclass(frozen=True)
class WriteNumber:
    """The number itself instead of an input for it."""

    name: str
    what: str = "with numbers written into the graph"

    def apply(self, case: GraphCase) -> GraphCase:
        value = next((item.value for item in case.inputs if item.name == self.name), None)
        changed = map_nodes(case, lambda node: node.rewired({self.name: literal(value)}))
        outputs = tuple(tree for tree in changed.outputs if trees.as_ref(tree) != self.name)
        return checked(case, prune(replace(changed, outputs=outputs)))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Inputs that are numbers."""
    for item in case.inputs:
        if item.kind in ("int", "float", "bool") and item.value is not None:
            yield Choice(f"number {item.name}", (WriteNumber(item.name),))
