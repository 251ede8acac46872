"""Comparing compiled graphs with eager: what a probe is asked for, and what it finds.

The rule by which a value is wrong stands in `triage/agent/accuracy_rule.py`; here is only what the two worlds exchange.
"""

from __future__ import annotations

from dataclasses import dataclass

PHASE = "compare"  # of the RaisedException that stands for a wrong result nobody raised
TYPE = "WrongResult"


@dataclass(frozen=True)
class GraphCall:
    """One call of a compiled graph: Dynamo's name of the graph, and which of its calls, from 1."""

    graph: str
    call: int


@dataclass(frozen=True)
class Comparison:
    """What the agent is asked to do.

    `gradients`: the program takes gradients, compare them too. `stop`: end the program at the first wrong value. `until`: end
    it after this call. `seconds`: what all comparisons of the probe may take.
    """

    gradients: bool = False
    stop: bool = False
    until: GraphCall | None = None
    seconds: float = 120.0


@dataclass(frozen=True)
class WrongResult:
    """The first value of a compiled graph that is wrong.

    `kind` is values, dtype, shape, strides, requires_grad or aliasing; `words` tells what differs where that is no number. Errors
    are the largest distances from the double-precision reference (from eager where there is none: `reference` is False);
    `spread` is how far eager itself moves when its roundings are nudged. `eager`, `compiled` and `exact` are the values of
    the element that is furthest off, at the index `at`.
    """

    graph: str
    call: int
    item: str
    direction: str
    kind: str = "values"
    words: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    wrong: int = 0
    elements: int = 0
    eager_error: float = 0.0
    compiled_error: float = 0.0
    spread: float = 0.0
    reference: bool = False
    at: tuple[int, ...] = ()
    eager: float | None = None
    compiled: float | None = None
    exact: float | None = None

    def headline(self) -> str:
        """What is wrong, without numbers that change from run to run."""
        if self.kind != "values":
            return f"{self.item} of a compiled graph: {self.words}"
        if "float" not in self.dtype and "complex" not in self.dtype:
            return f"{self.item} of a compiled graph is not what eager gives"
        against = "float64 than eager is" if self.reference else "eager than eager's own rounding explains"
        return f"{self.item} of a compiled graph is further from {against}"

    def details(self) -> str:
        """The numbers, one sentence."""
        if self.kind != "values":
            return f"Graph {self.graph}, call {self.call}."
        place = f" at {_tuple(self.at)}" if self.at else ""
        values = f"compiled {_number(self.compiled)}, eager {_number(self.eager)}"
        if self.exact is not None:
            values += f", float64 {_number(self.exact)}"
        return (
            f"Graph {self.graph}, call {self.call}, {self.dtype} of shape {_tuple(self.shape)}: "
            f"largest error {self.compiled_error:.3g} compiled, {self.eager_error:.3g} eager "
            f"(eager moves by {self.spread:.3g} when its roundings are nudged); "
            f"{self.wrong} of {self.elements} elements are wrong, the worst{place}: {values}."
        )


def _tuple(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.8g}"
