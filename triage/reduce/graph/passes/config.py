"""Config lines, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import Choice


@dataclass(frozen=True)
class DropConfig:
    """Without one config line."""

    line: str

    @property
    def what(self) -> str:
        return f"without `{self.line}`"

    def apply(self, case: GraphCase) -> GraphCase:
        rest = tuple(line for line in case.context.config if line != self.line)
        return checked(case, replace(case, context=replace(case.context, config=rest)))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Config lines, one by one."""
    for line in case.context.config:
        yield Choice(f"config {line}", (DropConfig(line),))
