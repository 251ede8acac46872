"""Registrations and imports in front of the function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.judge.judgement import RefusedError
from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import Choice
from triage.reduce.printing.preamble import Preamble, custom_operators, leaves_unbound, of_case


@dataclass(frozen=True)
class DropPreamble:
    """Without one block of source in front of the function."""

    block: str

    @property
    def what(self) -> str:
        first = self.block.strip().split("\n", 1)[0]
        return f"without `{first}`"

    def apply(self, case: GraphCase) -> GraphCase:
        rest = tuple(block for block in case.preamble if block != self.block)
        if leaves_unbound(_printed(case, rest), self.block, case.backend_code):
            raise RefusedError("a name would have no meaning")
        return checked(case, replace(case, preamble=rest))


def _printed(case: GraphCase, statements: tuple[str, ...]) -> Preamble:
    """What the printer would leave of them."""
    nodes = [*case.nodes, *case.nested_nodes]
    return of_case(replace(case, preamble=statements), custom_operators(nodes).values())


def propose(case: GraphCase) -> Iterator[Choice]:
    """Registrations and imports that the failure does not need."""
    for block in case.preamble:
        yield Choice(f"preamble {block}", (DropPreamble(block),))
