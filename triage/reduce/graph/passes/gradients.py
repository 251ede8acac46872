"""The gradients that arrive at outputs: ones, which nobody has to write down, or one number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes.fills import filled, telling
from triage.reduce.graph.passes.proposal import Choice, tensors
from triage.reduce.printing.literals import element


@dataclass(frozen=True)
class WithoutGradient:
    """The backward pass begins with ones, as that of a sum does."""

    name: str
    what: str = "with ones as incoming gradient"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(case, replace(case, inputs=tuple(item for item in case.inputs if item.name != self.name)))


def propose(case: GraphCase) -> Iterator[Choice]:
    """Gradients that arrive at outputs: ones, which nobody has to write down, or one number everywhere, or random ones."""
    for item in tensors(case):
        if item.gradient_of is None:
            continue
        simpler = ["zeros", *(f"full:{element(number)}" for number in telling(item.data)), "randn"]
        simpler = simpler[: simpler.index(item.fill)] if item.fill in simpler else simpler
        edits: list[Edit] = [WithoutGradient(item.name)]
        edits += [filled(item.name, fill) for fill in simpler if not item.fill.startswith("full:")]
        yield Choice(f"gradient {item.name}", tuple(edits))
