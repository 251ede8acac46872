"""Positional arguments dropped that have a default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model.effects import mutated, operation
from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import EXPECTED, Choice, map_node
from triage.reduce.graph.slices import prune
from triage.reduce.graph.wiring import operations

# Python's operators and the higher-order ones take what they are given, no less.
_WHOLE = ("operator.", "torch.ops.higher_order.")


@dataclass(frozen=True)
class DropTrailing:
    """An operation with only its first positional arguments."""

    node: str
    count: int
    operation: str

    @property
    def what(self) -> str:
        return f"with only {self.count} argument{'s' if self.count > 1 else ''} of {self.operation}"

    def apply(self, case: GraphCase) -> GraphCase:
        shorter = map_node(case, self.node, lambda node: replace(node, args=node.args[: self.count]))
        return checked(case, prune(shorter))


def propose(case: GraphCase) -> Iterator[Choice]:
    """As few positional arguments as an operation takes; the others have defaults."""
    for node in operations(case):
        fixed = node.target.startswith(_WHOLE) or mutated(node) is not None or (operation(node), "dim") in EXPECTED
        if len(node.args) > 1 and not fixed:
            shorter = range(1, len(node.args))
            edits: tuple[Edit, ...] = tuple(DropTrailing(node.name, count, operation(node)) for count in shorter)
            yield Choice(f"arguments {node.name}", edits)
