"""Tables of numbers that the program had, where no generated ones fail the same way: few numbers that matter among many of one.

Elements are set to one number in groups, ever smaller ones as fewer are left; what has to stay is rounded. So a reader sees the
three coordinates that it takes, and the program's other numbers are not in the script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triage.model.graphcase import GraphCase, GraphInput
from triage.reduce.graph.cropping import ODD, ground
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import Choice, map_inputs, tensors
from triage.reduce.printing.fills import effective_fill
from triage.reduce.printing.literals import element, numbers_in, zero_like

GROUPS = 12  # of elements in a table, each of which costs a question or two where it matters
DIGITS = (1, 2, 3)


@dataclass(frozen=True)
class SetElements:
    """The elements at these places of a table, counted in a row, become these numbers."""

    name: str
    numbers: tuple[tuple[int, Any], ...]
    what: str

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, map_inputs(case, lambda item: self._set(item) if item.name == self.name else item))

    def _set(self, item: GraphInput) -> GraphInput:
        if not _is_table(item):
            return item  # another edit made it of one number
        return _simplest(replace(item, data=_with(item.data, dict(self.numbers), 0)[0]))


def propose(case: GraphCase) -> Iterator[Choice]:
    for item in tensors(case):
        if not _is_table(item):
            continue
        flat = list(numbers_in(item.data))
        one = ground(flat)
        alike = [_all_alike(item.name, flat, number) for number in dict.fromkeys((one, *_plain(one)))]
        rounded = [_rounded(item.name, flat, digits) for digits in DIGITS]
        for slot, edits in (("ordinary numbers", alike), ("digits", rounded)):
            if any(edits):
                yield Choice(f"{slot} of {item.name} {len(flat)}", tuple(edit for edit in edits if edit is not None))
        left = [place for place, number in enumerate(flat) if repr(number) != repr(one)]
        step = -(-len(left) // GROUPS) or 1
        for start in range(0, len(left), step):
            group = left[start : start + step]
            told = f"with {element(one)} in place of {len(group)} element{'s' if len(group) > 1 else ''}"
            edit = SetElements(item.name, tuple((place, one) for place in group), told)
            yield Choice(f"elements of {item.name} {len(flat)} {group[0]}:{group[-1]}:{len(group)}", (edit,))


def _is_table(item: GraphInput) -> bool:
    """Whether its elements stand in the script, and are real numbers."""
    written = item.recorded and item.meta is not None and effective_fill(item) == "values"
    return written and not any(isinstance(number, dict) for number in numbers_in(item.data))


def _plain(number: Any) -> tuple[Any, ...]:
    """0 and 1, of the kind that this number is."""
    zero = zero_like(number)
    return (zero, type(zero)(1))


def _all_alike(name: str, flat: Sequence[Any], number: Any) -> Edit | None:
    """One number in the place of all others, but for a NaN and infinities, where there are some."""
    changed = [(place, number) for place, each in enumerate(flat) if each not in ODD and repr(each) != repr(number)]
    if not changed or not any(each in ODD for each in flat):
        return None
    return SetElements(name, tuple(changed), f"with {element(number)} in place of other numbers")


def _rounded(name: str, flat: Sequence[Any], digits: int) -> Edit | None:
    changed = []
    for place, number in enumerate(flat):
        if isinstance(number, float) and number != (short := float(f"{number:.{digits}g}")):
            changed.append((place, short))
    told = f"with numbers of {digits} digit{'s' if digits > 1 else ''}"
    return SetElements(name, tuple(changed), told) if changed else None


def _with(data: Any, numbers: Mapping[int, Any], place: int) -> tuple[Any, int]:
    """(nested lists with other numbers at some places, the place after the last one)."""
    if not isinstance(data, list):
        return numbers.get(place, data), place + 1
    items = []
    for each in data:
        item, place = _with(each, numbers, place)
        items.append(item)
    return items, place


def _simplest(item: GraphInput) -> GraphInput:
    """A table of one number is told as that."""
    different = {element(number) for number in numbers_in(item.data)}
    if len(different) != 1:
        return item
    (number,) = different
    plain = {"0": "zeros", "0.0": "zeros", "False": "zeros", "1": "ones", "1.0": "ones", "True": "ones"}
    return replace(item, fill=plain.get(number, f"full:{number}"), data=None)
