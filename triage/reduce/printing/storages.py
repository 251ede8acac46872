"""Storages that several inputs share and none of them reaches whole: made once, and each input is a view of it.

Made one by one, overlapping inputs would have memory of their own, and what is done to one in place would not be seen
in the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triage.model.graphcase import GraphInput, TensorMeta
from triage.reduce.printing.fills import based, effective_fill, layout, storage_size, view_of
from triage.reduce.printing.literals import numbers_in, zero_like

ROOM = 2  # times as many elements as its inputs have, that a storage may have to be made


def shared(arguments: Sequence[GraphInput]) -> dict[str, GraphInput]:
    """By the name of the first input of a storage, all of it as an input; only where views reach beyond that first one."""
    found = {}
    for owner in arguments:
        views = [item for item in arguments if item.base == owner.name and _same_kind(item, owner)]
        written = effective_fill(owner) == "values"
        if views and (written or based(owner) is None):
            table = None if all(_fits(owner, item, written) for item in views) else _table(owner, views)
            if table is not None:
                found[owner.name] = table
    return found


def _fits(owner: GraphInput, item: GraphInput, written: bool) -> bool:
    """Whether the input is a view of the owner as that is made by itself. `written` out, it has the memory that is seen of it."""
    if owner.meta is None or item.meta is None or (written and layout(owner.meta)[1]):
        return False
    return view_of(owner.meta, item.meta) is not None


def _same_kind(item: GraphInput, owner: GraphInput) -> bool:
    """Whether one table can hold the elements of both."""
    one, other = item.meta, owner.meta
    if one is None or other is None or one.lazy or other.lazy or 0 in (*one.shape, *other.shape):
        return False
    return (one.dtype, one.device) == (other.dtype, other.device)


def _table(owner: GraphInput, views: Sequence[GraphInput]) -> GraphInput | None:
    """All of the storage, made as its owner is; what was recorded of it is that of its owner first, and 0 where nobody looked."""
    assert owner.meta is not None
    members = [owner, *views]
    size = max((storage_size(item.meta) for item in members if item.meta is not None), default=0)
    meta = replace(owner.meta, shape=(size,), stride=(1,), storage_offset=0, symbols={}, requires_grad=False)
    whole = replace(owner, meta=meta, base=None, view_of=None)
    if size > ROOM * sum(math.prod(item.meta.shape) for item in members if item.meta is not None):
        return None
    if effective_fill(owner) != "values":
        return whole
    told: dict[int, Any] = {}
    for item in members:
        if item.meta is not None and effective_fill(item) == "values":
            for place, number in zip(_places(item.meta), numbers_in(item.data), strict=True):
                told.setdefault(place, number)
    nothing = zero_like(next(iter(told.values())))
    return replace(whole, data=[told.get(place, nothing) for place in range(size)])


def _places(meta: TensorMeta) -> list[int]:
    """Where in the storage each element lies, in order."""
    indices = itertools.product(*(range(size) for size in meta.shape))
    return [meta.storage_offset + sum(map(int.__mul__, index, meta.stride)) for index in indices]
