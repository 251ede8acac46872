"""How inputs lie in memory: strides, offsets, shared storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model.graphcase import GraphCase, GraphInput
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import ChangeInput, Choice, map_inputs, tensors
from triage.reduce.printing.fills import contiguous, seen_of

DONE = (("meta.lazy", ""),)  # what was put off


def without_lazy(kind: str) -> str:
    return f"without a lazy {kind}"


@dataclass(frozen=True)
class SmallBase:
    """What an input is a view of has no more elements than are seen of it."""

    name: str
    what: str = "with a view of all of another tensor"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, map_inputs(case, lambda item: _small_base(item) if item.name == self.name else item))


def propose(case: GraphCase) -> Iterator[Choice]:
    """No views of other tensors, contiguous strides, no offset, storage of their own."""
    for item in tensors(case):
        assert item.meta is not None
        name = frozenset({item.name})
        if item.base is not None:
            yield Choice(f"base {item.name}", (ChangeInput(name, (("base", None),), "with separate storages"),))
        if item.meta.lazy:
            yield Choice(f"lazy {item.name}", (ChangeInput(name, DONE, without_lazy(item.meta.lazy)),))
        if item.meta.storage_offset:
            changes = (("meta.storage_offset", 0),)
            yield Choice(f"offset {item.name}", (ChangeInput(name, changes, "without a storage offset"),))
        plain = contiguous(item.meta.shape)
        if tuple(item.meta.stride) != plain:
            straight = (("meta.stride", plain), ("base", None))
            what = f"with contiguous strides instead of {tuple(item.meta.stride)}"
            yield Choice(f"stride {item.name}", (ChangeInput(name, straight, what),))
        if item.view_of is not None:
            none = ChangeInput(name, (("view_of", None),), "with an input that is no view of another tensor")
            yield Choice(f"view {item.name}", (none, SmallBase(item.name)))


def _small_base(item: GraphInput) -> GraphInput:
    if item.meta is None or item.view_of is None:
        return item
    return replace(item, view_of=seen_of(item.view_of, item.meta))
