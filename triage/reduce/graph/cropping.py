"""Recorded elements in a smaller shape: what stays is where they are of note, at the same places in every input.

Of note is a NaN, an infinity, or another number than nearly all are: a failure that needs recorded values tends to need these.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from triage.reduce.printing.literals import fits, numbers_in

ODD = ("nan", "inf", "-inf")  # as recorded elements hold them
Places = Mapping[int, Sequence[int]]  # of an extent, the indices that stay


def cropped(data: Any, shape: tuple[int, ...], places: Places | None = None) -> Any:
    """Elements cut down to another shape of the same rank, at `places` where they say; repeated where there are too few."""
    if fits(data, shape):
        return data
    common, given = common_of(data), places or {}
    for axis, size in enumerate(shape[: _rank(data)]):
        slices = _along(data, axis)
        kept: Sequence[int] = range(size)
        if size < len(slices):
            kept = given.get(len(slices), ())
            kept = kept if len(kept) == size else _best([_notes(each, common) for each in slices], size)
        data = _taken(data, axis, kept)
    return data


def places_of(tables: Iterable[Any], sizes: Iterable[tuple[int, int]]) -> Places:
    """Which indices of each extent stay where it becomes another, for all tables together."""
    left = [(data, common_of(data)) for data in tables]
    chosen: dict[int, Sequence[int]] = {}
    for old, new in sizes:
        if new >= old:
            continue
        notes = [0] * old
        for data, common in left:
            for axis in range(_rank(data)):
                slices = _along(data, axis)
                if len(slices) == old:
                    notes = [sum(pair) for pair in zip(notes, (_notes(each, common) for each in slices), strict=True)]
        chosen[old] = _best(notes, new)
        left = [(_cut(data, old, chosen[old]), common) for data, common in left]
    return chosen


def ground(numbers: Sequence[Any]) -> Any:
    """The number that more than half of these are; where none is, 0 of their kind."""
    common = common_of(list(numbers))
    if common is not None:
        return json.loads(common)
    if all(isinstance(number, bool) for number in numbers):
        return False
    return 0 if all(isinstance(number, int) for number in numbers) else 0.0


def common_of(data: Any) -> str | None:
    """The number that more than half of the elements are, as JSON; 0.0, which a reducer writes, if half of them are that."""
    counted = Counter(map(json.dumps, numbers_in(data)))
    half = counted.total() / 2
    return next((number for number, times in counted.items() if times > half or (number, times) == ("0.0", half)), None)


def _notes(data: Any, common: str | None) -> int:
    """How many elements are of note."""
    if common is None:
        return sum(number in ODD for number in numbers_in(data))
    return sum(json.dumps(number) != common for number in numbers_in(data))


def _best(notes: Sequence[int], size: int) -> list[int]:
    return sorted(sorted(range(len(notes)), key=lambda index: -notes[index])[:size])


def _rank(data: Any) -> int:
    return 1 + _rank(data[0]) if isinstance(data, list) and data else 0


def _cut(data: Any, extent: int, kept: Sequence[int]) -> Any:
    for axis in range(_rank(data)):
        if len(_along(data, axis)) == extent:
            data = _taken(data, axis, kept)
    return data


def _along(data: Any, axis: int) -> list[Any]:
    """The slices of nested lists along an axis."""
    if axis == 0:
        return list(data)
    return [list(each) for each in zip(*(_along(item, axis - 1) for item in data), strict=True)]


def _taken(data: Any, axis: int, indices: Sequence[int]) -> Any:
    if axis:
        return [_taken(item, axis - 1, indices) for item in data]
    return [data[index % len(data)] for index in indices]
