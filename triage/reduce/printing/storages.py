"""Storages with recorded values that several inputs share: one table of all that was recorded, of which each input is a view.

Written out one by one, overlapping inputs would have memory of their own, and what is done to one in place would not be seen
in the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triage.model.graphcase import GraphInput, TensorMeta
from triage.reduce.printing.fills import effective_fill, layout, storage_size, view_of
from triage.reduce.printing.literals import numbers_in

ROOM = 2  # times as many elements as were recorded, that a storage may have to be written out


def shared(arguments: Sequence[GraphInput]) -> dict[str, GraphInput]:
    """By the name of the first input of a storage, all of it as an input; only where views reach beyond that first one."""
    found = {}
    for owner in arguments:
        views = [item for item in arguments if item.base == owner.name and _same_kind(item, owner)]
        if views and owner.meta is not None and effective_fill(owner) == "values":
            table = None if all(_fits(owner.meta, item) for item in views) else _table(owner, views)
            if table is not None:
                found[owner.name] = table
    return found


def _fits(owner: TensorMeta, item: GraphInput) -> bool:
    """Whether the input is a view of the owner as it is written out by itself."""
    return item.meta is not None and not layout(owner)[1] and view_of(owner, item.meta) is not None


def _same_kind(item: GraphInput, owner: GraphInput) -> bool:
    """Whether one table can hold the elements of both."""
    one, other = item.meta, owner.meta
    if one is None or other is None or one.lazy or other.lazy or 0 in (*one.shape, *other.shape):
        return False
    return (one.dtype, one.device) == (other.dtype, other.device)


def _table(owner: GraphInput, views: Sequence[GraphInput]) -> GraphInput | None:
    """All elements that were recorded of the storage, those of its owner first; 0 where nobody looked."""
    assert owner.meta is not None
    members = [owner, *views]
    size = max((storage_size(item.meta) for item in members if item.meta is not None), default=0)
    told: dict[int, Any] = {}
    for item in members:
        if item.meta is not None and effective_fill(item) == "values":
            for place, number in zip(_places(item.meta), numbers_in(item.data), strict=True):
                told.setdefault(place, number)
    if not told or size > ROOM * sum(_count(item.meta) for item in members if item.meta is not None):
        return None
    nothing = _nothing(next(iter(told.values())))
    meta = replace(owner.meta, shape=(size,), stride=(1,), storage_offset=0, symbols={}, requires_grad=False)
    data = [told.get(place, nothing) for place in range(size)]
    return replace(owner, meta=meta, fill="values", data=data, base=None, view_of=None)


def _places(meta: TensorMeta) -> list[int]:
    """Where in the storage each element lies, in order."""
    indices = itertools.product(*(range(size) for size in meta.shape))
    return [meta.storage_offset + sum(map(int.__mul__, index, meta.stride)) for index in indices]


def _count(meta: TensorMeta) -> int:
    return math.prod(meta.shape)


def _nothing(number: Any) -> Any:
    if isinstance(number, dict):
        return {"complex": [0.0, 0.0]}
    return False if isinstance(number, bool) else 0 if isinstance(number, int) else 0.0
