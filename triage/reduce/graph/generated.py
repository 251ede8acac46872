"""Inputs made up in the place of those that the program had: who reads a script sees that no value of the program is in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from triage.model.graphcase import GraphCase, GraphInput
from triage.reduce.graph.cropping import ODD
from triage.reduce.graph.slices import is_floating
from triage.reduce.printing.literals import numbers_in


def made_up(case: GraphCase) -> Iterator[GraphCase]:
    """The case with made-up elements, the likeliest to fail the same way first; nothing where it has no others."""
    if not case.holds_values:
        return
    yield synthetic_values(case)
    for number in ODD:
        holding = [item.name for item in case.inputs if item.recorded and number in numbers_in(item.data)]
        if holding:
            filled = [
                replace(item, fill=f'full:float("{number}")', data=None) if item.name in holding else item
                for item in case.inputs
            ]
            yield synthetic_values(replace(case, inputs=tuple(filled)))
    for fill in ("ones", "zeros"):
        yield replace(
            case, inputs=tuple(replace(item, fill=fill, data=None) if item.recorded else item for item in case.inputs)
        )


def synthetic_values(case: GraphCase) -> GraphCase:
    """Inputs made from the dtype and the range of what was recorded, instead of the recorded values. Constants stay."""
    return replace(case, inputs=tuple(_synthetic(item) for item in case.inputs))


def _synthetic(item: GraphInput) -> GraphInput:
    if not item.recorded or item.meta is None:
        return item
    if item.meta.dtype == "bool":
        return replace(item, fill="randint:0:2", data=None)
    if is_floating(item.meta.dtype):
        return replace(item, fill="randn", data=None)
    found = [int(number) for number in numbers_in(item.data) if isinstance(number, (int, float))]
    low, high = (min(found), max(found)) if found else (0, 1)
    return replace(item, fill=f"randint:{low}:{high + 1}", data=None)
