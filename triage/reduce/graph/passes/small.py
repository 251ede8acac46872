"""Every extent 1 or 2."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import Edit
from triage.reduce.graph.passes.extents import Resize, extents
from triage.reduce.graph.passes.proposal import Choice


def propose(case: GraphCase) -> Iterator[Choice]:
    """Every extent at once: 1, then 2."""
    sizes = extents(case)
    ones, twos = tuple((size, 1) for size in sizes), tuple((size, 2) for size in sizes if size > 2)
    edits: list[Edit] = [Resize(ones)] if ones else []
    if twos:
        edits += [Resize(twos), Resize(twos, arguments=False)]
    if edits:
        yield Choice("all extents", tuple(edits))
