"""No backward pass for a failure in forward."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model.graphcase import GraphCase
from triage.reduce.graph.passes.proposal import ChangeCase, Choice


def propose(case: GraphCase) -> Iterator[Choice]:
    """A failure in forward needs no backward pass; one in backward keeps it, and its direction with it."""
    if case.backward and case.direction != "backward":
        yield Choice("backward", (ChangeCase((("backward", False),), "without a backward pass"),))
