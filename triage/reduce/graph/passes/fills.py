"""What inputs are filled with.

Random values make a reader ask whether they matter. Ones, zeros or a range say that they do not. Of values that matter,
one number everywhere says the most: NaN, an infinity, the smallest or the largest that was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triage.model.graphcase import GraphCase, GraphInput
from triage.reduce.graph.edits import Edit
from triage.reduce.graph.passes.proposal import ChangeInput, Choice, tensors
from triage.reduce.graph.slices import is_floating
from triage.reduce.printing.literals import element, numbers_in

_SIMPLE = ("ones", "zeros", "arange")


def propose(case: GraphCase) -> Iterator[Choice]:
    """Ones, zeros, a range; for recorded values also random ones. Whole numbers often are indices: zeros first."""
    for item in tensors(case):
        assert item.meta is not None
        if item.fill in _SIMPLE or item.fill.startswith("full:") or item.gradient_of is not None:
            continue
        order: tuple[str, ...] = _SIMPLE if is_floating(item.meta.dtype) else ("zeros", "ones", "arange")
        if item.fill == "values":
            order = (*order, *(f"full:{element(number)}" for number in telling(item.data)), *_spread(item))
        if item.meta.dtype == "bool":
            order = tuple(fill for fill in order if fill != "arange")
        yield Choice(f"fill {item.name}", tuple(filled(item.name, fill) for fill in order))


def telling(data: Any) -> list[Any]:
    """The numbers of a table that failures tend to hang on: those that are not finite, the smallest, the largest."""
    flat = list(numbers_in(data))
    odd = [text for text in ("nan", "inf", "-inf") if text in flat]
    finite = [number for number in flat if isinstance(number, (int, float)) and not isinstance(number, bool)]
    return [
        *odd,
        *(number for number in dict.fromkeys((min(finite), max(finite)) if finite else ()) if number not in (0, 1)),
    ]


def _spread(item: GraphInput) -> tuple[str, ...]:
    """Many numbers that nobody has to write down: random ones, then those of the range that was seen, in two digits."""
    assert item.meta is not None
    finite = [number for number in numbers_in(item.data) if isinstance(number, (int, float))]
    if not finite or item.meta.dtype == "bool":
        return ("randn",)
    low, high = min(finite), max(finite)
    if not is_floating(item.meta.dtype):
        return ("randn", f"randint:{low}:{int(high) + 1}")
    bounds = f"{float(f'{low:.2g}')}:{float(f'{high:.2g}')}"
    return ("randn", f"linspace:{bounds}", f"uniform:{bounds}") if low < high else ("randn",)


def filled(name: str, fill: str) -> Edit:
    return ChangeInput(frozenset({name}), (("fill", fill), ("data", None)), f"with {fill} as values")
