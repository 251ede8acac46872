"""What inputs are to autograd: requires_grad, parameters, buffers."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model.graphcase import GraphCase
from triage.reduce.graph.passes.proposal import ChangeInput, Choice, tensors


def propose(case: GraphCase) -> Iterator[Choice]:
    """Inputs that need no gradient; parameters that are plain tensors."""
    for item in tensors(case):
        assert item.meta is not None
        name = frozenset({item.name})
        if item.meta.requires_grad:
            changes = (("meta.requires_grad", False), ("role", "input"))
            yield Choice(f"grad {item.name}", (ChangeInput(name, changes, "without requires_grad"),))
        if item.role in ("parameter", "buffer"):
            yield Choice(f"role {item.name}", (ChangeInput(name, (("role", "input"),), f"without a {item.role}"),))
