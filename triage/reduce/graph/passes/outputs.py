"""Outputs: none where the graph changes something, one of them alone, then one fewer."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model import trees
from triage.model.effects import changed
from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import DropOutput, Edit, ReturnNothing, ReturnOnly
from triage.reduce.graph.passes.proposal import Choice

ALONE = 3


def propose(case: GraphCase) -> Iterator[Choice]:
    """The last outputs alone first: a failure tends to lie at the end of a slice."""
    names = list(dict.fromkeys(trees.refs(list(case.outputs))))
    if names and any(changed(node) for node in case.nodes):
        yield Choice("no output", (ReturnNothing(),))
    if len(names) < 2:
        return
    alone: list[Edit] = [ReturnOnly(name) for name in reversed(names[-ALONE:])]
    yield Choice("one output", tuple(alone))
    if len(names) > 2:
        for name in names:
            yield Choice(f"output {name}", (DropOutput(name),))
