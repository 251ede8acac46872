"""How inputs lie in memory: strides, offsets, shared storage."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model.graphcase import GraphCase
from triage.reduce.graph.passes.proposal import ChangeInput, Choice, tensors
from triage.reduce.graph.weight import contiguous


def propose(case: GraphCase) -> Iterator[Choice]:
    """Contiguous strides, no offset, storage of their own."""
    for item in tensors(case):
        assert item.meta is not None
        name = frozenset({item.name})
        if item.base is not None:
            yield Choice(f"base {item.name}", (ChangeInput(name, (("base", None),), "with separate storages"),))
        if item.meta.lazy:
            done = (("meta.lazy", ""),)
            yield Choice(f"lazy {item.name}", (ChangeInput(name, done, f"without a lazy {item.meta.lazy}"),))
        if item.meta.storage_offset:
            changes = (("meta.storage_offset", 0),)
            yield Choice(f"offset {item.name}", (ChangeInput(name, changes, "without a storage offset"),))
        plain = contiguous(item.meta.shape)
        if tuple(item.meta.stride) != plain:
            straight = (("meta.stride", plain), ("base", None))
            what = f"with contiguous strides instead of {tuple(item.meta.stride)}"
            yield Choice(f"stride {item.name}", (ChangeInput(name, straight, what),))
