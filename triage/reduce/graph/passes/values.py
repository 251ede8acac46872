"""What inputs are filled with, and the numbers passed for them.

Random values make a reader ask whether they matter. Ones, zeros or a range say that they do not. Of values that matter,
one number everywhere says the most: NaN, an infinity, the smallest or the largest that was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.model import trees
from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.proposal import ChangeInput, Choice, map_nodes, tensors
from triage.reduce.graph.slices import is_floating, literal, numbers_in, prune
from triage.reduce.printing.fills import element

_SIMPLE = ("ones", "zeros", "arange")


def fills(case: GraphCase) -> Iterator[Choice]:
    """Ones, zeros, a range; for recorded values also random ones. Whole numbers often are indices: zeros first."""
    for item in tensors(case):
        assert item.meta is not None
        if item.fill in _SIMPLE or item.fill.startswith("full:") or item.gradient_of is not None:
            continue
        order: tuple[str, ...] = _SIMPLE if is_floating(item.meta.dtype) else ("zeros", "ones", "arange")
        if item.fill == "values":
            order = (*order, *(f"full:{element(number)}" for number in telling(item.data)), "randn")
        if item.meta.dtype == "bool":
            order = tuple(fill for fill in order if fill != "arange")
        yield Choice(f"fill {item.name}", tuple(_filled(item.name, fill) for fill in order))


def gradients(case: GraphCase) -> Iterator[Choice]:
    """Gradients that arrive at outputs: ones, which nobody has to write down, or one number everywhere, or random ones."""
    for item in tensors(case):
        if item.gradient_of is None:
            continue
        simpler = ["zeros", *(f"full:{element(number)}" for number in telling(item.data)), "randn"]
        simpler = simpler[: simpler.index(item.fill)] if item.fill in simpler else simpler
        edits: list[Edit] = [WithoutGradient(item.name)]
        edits += [_filled(item.name, fill) for fill in simpler if not item.fill.startswith("full:")]
        yield Choice(f"gradient {item.name}", tuple(edits))


@dataclass(frozen=True)
class WithoutGradient:
    """The backward pass begins with ones, as that of a sum does."""

    name: str
    what: str = "with ones as incoming gradient"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, replace(case, inputs=tuple(item for item in case.inputs if item.name != self.name)))


def telling(data: Any) -> list[Any]:
    """The numbers of a table that failures tend to hang on: those that are not finite, the smallest, the largest."""
    flat = list(numbers_in(data))
    odd = [text for text in ("nan", "inf", "-inf") if text in flat]
    finite = [number for number in flat if isinstance(number, (int, float)) and not isinstance(number, bool)]
    return [
        *odd,
        *(number for number in dict.fromkeys((min(finite), max(finite)) if finite else ()) if number not in (0, 1)),
    ]


def _filled(name: str, fill: str) -> Edit:
    return ChangeInput(frozenset({name}), (("fill", fill), ("data", None)), f"with {fill} as values")


@dataclass(frozen=True)
class WriteNumber:
    """The number itself instead of an input for it."""

    name: str
    what: str = "with numbers written into the graph"

    def apply(self, case: GraphCase) -> GraphCase:
        value = next((item.value for item in case.inputs if item.name == self.name), None)

        def resolve(name: str) -> object:
            return literal(value) if name == self.name else trees.ref(name)

        changed = map_nodes(
            case,
            lambda node: replace(
                node, args=trees.rewrite(node.args, resolve), kwargs=trees.rewrite(node.kwargs, resolve)
            ),
        )
        outputs = tuple(tree for tree in changed.outputs if trees.as_ref(tree) != self.name)
        return checked(case, prune(replace(changed, outputs=outputs)))


def numbers(case: GraphCase) -> Iterator[Choice]:
    """Inputs that are numbers."""
    for item in case.inputs:
        if item.kind in ("int", "float", "bool") and item.value is not None:
            yield Choice(f"number {item.name}", (WriteNumber(item.name),))
