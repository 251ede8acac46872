"""Comparing compiled graphs with eager: what a probe is asked for, and what it finds.

The rule by which a value is wrong stands in `triage/agent/compare/rule.py`; here is only what the two worlds exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PHASE = "compare"  # of the RaisedException that stands for a wrong result nobody raised
PRINTED = "printed"  # and of that for numbers which only the compiled program prints
TYPE = "WrongResult"
AFTER = " after the call"
NUMBERS = ("values", "nan", "inf")  # kinds of wrong results that a number of any of them may come of
RESULT_OF = "result of "  # an operation inside of a graph: the place of a wrong value that is not an output


@dataclass(frozen=True)
class GraphCall:
    """One call of a compiled graph: Dynamo's name of the graph, and which of its calls, from 1."""

    graph: str
    call: int


@dataclass(frozen=True)
class Comparison:
    """What the agent is asked to do.

    `gradients`: the program takes gradients, compare them too. `stop`: end the program at the first wrong value. `until`: end
    it after this call. `every`: each call is compared, not a sample of later ones. `own_check`: a check of the program's own
    fails, so every call is compared up to that, whatever was wrong before, and what only rounds otherwise is told. `signs`: of
    zeros, too. `fine`: where a wrong value begins is asked, so what is small throughout counts as what it is. `seconds`: what
    all comparisons of the probe may take. `dropout`: it is left on, and what hangs on its masks compared where both draw alike.
    """

    gradients: bool = False
    stop: bool = False
    until: GraphCall | None = None
    every: bool = False
    own_check: bool = False
    signs: bool = False
    fine: bool = False
    seconds: float = 120.0
    dropout: bool = False


_WORDS = {
    "values": "wrong values",
    "zero_sign": "zeros of the other sign",
    "dtype": "another dtype than in eager",
    "shape": "another shape than in eager",
    "strides": "other strides than in eager",
    "aliasing": "memory shared with other inputs than in eager",
    "requires_grad": "requires_grad is not what it is in eager",
    "structure": "another structure than in eager",
}


@dataclass(frozen=True)
class Wrongness:
    """What makes two wrong results one: of which kind, and where. It is part of the failure's signature.

    `kind`: structure, shape, dtype, strides, aliasing, requires_grad, mutation, nan, inf, zero_sign, values. `where` names the
    value (`output 0`, `gradient of w`, `x after the call`); its place is what counts, for the names change in a reduction.
    `sense` says which of the two has the NaN, or made the change: eager, compiled, both; empty where that says nothing.
    `varies`: the compiled numbers are others in each run, as what lies in memory that nobody wrote; `by_luck`: so that they are
    right in some. Of those the kind is `values`, and a run may show any kind of number.
    """

    kind: str
    where: str = ""
    sense: str = ""
    varies: bool = False
    by_luck: bool = False

    @property
    def place(self) -> str:
        """Output | gradient | input; empty where it is not known."""
        if not self.where:
            return ""
        if self.where.startswith("gradient"):
            return "gradient"
        return "input" if self.where.endswith(AFTER) else "output"

    def words(self) -> str:
        """The kind in words, without numbers: they are others in a reproducer."""
        if self.kind in ("nan", "inf"):
            name = "NaN" if self.kind == "nan" else "infinity"
            return {"eager": f"{name} in eager, not compiled", "compiled": f"{name} compiled, not in eager"}.get(
                self.sense, f"{name} elsewhere than in eager"
            )
        if self.kind == "mutation":
            return "an input is changed in eager only" if self.sense == "eager" else "an input is changed compiled only"
        said = _WORDS.get(self.kind, self.kind) + (", others in each run" if self.varies else "")
        return f"{said}, of a gradient" if self.place == "gradient" else said

    def same(self, other: Wrongness) -> bool:
        """Of one kind, in one place, of one sense; what is not known of one of them does not count."""
        pairs = [(self.place, other.place), (self.sense, other.sense)]
        if self.varies or other.varies:
            pairs.pop()
        return self._same_kind(other) and all(one == two or not one or not two for one, two in pairs)

    def same_search(self, other: Wrongness) -> bool:
        """As `same`, of a candidate that was compared as closely: it varies as this does, and is not right by luck alone."""
        return self.same(other) and self.varies == other.varies and (self.by_luck or not other.by_luck)

    def _same_kind(self, other: Wrongness) -> bool:
        """A check that looks at an input after the call sees its values, and not who changed it."""
        kinds = {self.kind, other.kind}
        if (self.varies or other.varies) and kinds <= set(NUMBERS):
            return True
        return len(kinds) == 1 or (kinds == {"mutation", "values"} and not (self.where and other.where))


@dataclass(frozen=True)
class WrongResult:
    """A value of a compiled graph that is wrong, by the rule of the agent.

    `words` tells what differs where that is no number (a gradient is None); where it is a fact that both have (strides, ...),
    `compiled_is` and `eager_is` are that of each. Errors are the largest distances from the double-precision reference
    (from eager where there is none: `reference` is False); `spread` is how far eager itself moves when its roundings are
    nudged. `eager`, `compiled` and `exact` are the values of the element that is furthest off, at the index `at`. `small`: it
    is so small throughout, or off by so little, that it counts only where tensors are compared as what they are. `varies` and
    `by_luck` as of `Wrongness`. `redrawn`: compiled code drew random numbers once more than eager, dropout being left on. `file`
    has the graph as it was called then.
    """

    graph: str
    call: int
    item: str
    direction: str
    kind: str = "values"
    words: str = ""
    compiled_is: str = ""
    eager_is: str = ""
    sense: str = ""
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
    small: bool = False
    varies: bool = False
    by_luck: bool = False
    redrawn: bool = False
    file: str = ""

    @property
    def wrongness(self) -> Wrongness:
        return Wrongness(self.kind, self.item, self.sense, self.varies, self.by_luck)

    @property
    def operation(self) -> str:
        """The operation whose result it is, where that was asked for by itself; empty for what a graph gives."""
        return self.item.removeprefix(RESULT_OF) if self.item.startswith(RESULT_OF) else ""

    def face(self) -> str:
        """What is wrong, as a headline: of the value alone, without its name."""
        if self.words:
            return self.words
        if self.varies:
            return "compiled another value in each run on the same inputs"
        if self.kind in ("nan", "inf"):
            return self.wrongness.words()
        if "float" not in self.dtype and "complex" not in self.dtype:
            return "not what eager gives"
        return f"off by {_few(self.compiled_error)} compiled, by {_few(self.eager_error)} in eager"

    def sentence(self) -> str:
        """What is wrong and where, with its numbers: `output 0: off by 1.5 compiled, by 3.7e-07 in eager`."""
        return f"{self.item}: {self.face()}"

    def headline(self) -> str:
        """What is wrong, without numbers that change from run to run."""
        if self.kind != "values" or self.words or self.varies:
            return f"{self.item} of a compiled graph: {self.face()}"
        if "float" not in self.dtype and "complex" not in self.dtype:
            return f"{self.item} of a compiled graph is not what eager gives"
        against = "float64 than eager is" if self.reference else "eager than eager's own rounding explains"
        return f"{self.item} of a compiled graph is further from {against}"

    def details(self) -> str:
        """The numbers, one sentence; what both sides have in common where there are none."""
        what = f"Graph {self.graph}, call {self.call}"
        if self.dtype and self.kind not in ("dtype", "shape", "structure"):
            what += f", {self.dtype} of shape {_tuple(self.shape)}"
        if not self.elements or self.kind == "zero_sign":
            return f"{what}."
        place = f" at {_tuple(self.at)}" if self.at else ""
        moved = f"eager moves by {self.spread:.3g} when its roundings are nudged"
        if self.redrawn:
            moved = "the forward pass draws as in eager, and compiled code draws random numbers once more after it"
        return (
            f"{what}: "
            f"largest error {self.compiled_error:.3g} compiled, {self.eager_error:.3g} eager ({moved}); "
            f"{self.wrong} of {self.elements} elements are wrong, the worst{place}: {self.values()}."
        )

    def values(self) -> str:
        """Those of the element that is furthest off: `compiled 10, eager 9, float64 9`."""
        compiled = "None" if self.words else _number(self.compiled)
        exact = "" if self.exact is None else f", float64 {_number(self.exact)}"
        return f"compiled {compiled}, eager {_number(self.eager)}{exact}"


@dataclass(frozen=True)
class Check:
    """What a failing check of the program's own compared, as the agent saw it when it failed.

    `kind` as in `Wrongness`; `how` names the check. `difference` is the largest one between finite elements, `relative` its root
    mean square in units of the values'.
    """

    kind: str
    how: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    difference: float | None = None
    relative: float | None = None

    @property
    def wrongness(self) -> Wrongness:
        return Wrongness(self.kind)

    def likeliest_first(self, wrongs: Sequence[WrongResult]) -> tuple[WrongResult, ...]:
        """The wrong values of a call, that first which the check looked at, as far as its facts tell them apart."""
        return tuple(sorted(wrongs, key=self.fits, reverse=True))

    def fits(self, wrong: WrongResult) -> tuple[bool, ...]:
        """In what is wrong, in shape, in dtype, in how far it is off; that of a promoted or reduced value may be another."""
        return (
            self.wrongness.same(Wrongness(wrong.kind)),
            self.shape == wrong.shape,
            self.dtype == wrong.dtype,
            self._as_far_off(wrong),
        )

    def _as_far_off(self, wrong: WrongResult) -> bool:
        if self.difference is None or wrong.eager is None or wrong.compiled is None:
            return False
        apart = abs(wrong.compiled - wrong.eager)
        return self.difference / ALIKE <= apart <= self.difference * ALIKE


ALIKE = 2.0  # two runs of one program are as far off where they differ by no more than this factor
EXPLAINS = 10.0  # what eager's own numbers move by may be so much smaller, and still be where a difference comes from
GROSS = 0.3  # a difference of this share of the values is called rounding only where it was seen to come of it


@dataclass(frozen=True)
class Rounding:
    """The value of a compiled graph that is furthest from eager's, where eager's own rounding explains it.

    `difference` and the errors (against double precision; None where there is none) are the largest of the tensor, `relative` is
    the root mean square of the difference in units of the values', `tolerances` the difference in default tolerances
    of torch.testing.assert_close. `unbounded`: where one is a number the other is infinite or NaN, as eager's own are then.
    `steps`: they are integers or booleans, and the tolerance is 1. `eager_wrong`: for how many elements eager gives NaN, infinity
    or what is far off (`eager_gives` says which) where double precision and compiled agree on something else: eager itself is
    wrong there; `eager_operation` is the first in it that gives infinity or NaN of finite numbers. `spread`: how far eager's own
    numbers move once rounded otherwise; None where that was not asked. `of_zero`: in double precision it is nothing.
    `file`: the graph with what that call was given, where the difference is more than a tolerance.
    """

    graph: str
    call: int
    item: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    difference: float = 0.0
    relative: float = 0.0
    tolerances: float = 0.0
    compiled_error: float | None = None
    eager_error: float | None = None
    unbounded: bool = False
    steps: bool = False
    eager_wrong: int = 0
    eager_gives: str = ""
    eager_operation: str = ""
    spread: float | None = None
    of_zero: bool = False
    file: str = ""

    @property
    def far(self) -> bool:
        """Whether it is more than a tolerance of torch's tests, or of integers or booleans."""
        return self.steps or self.tolerances > 1.0

    @property
    def gross(self) -> bool:
        """Whether no digit is left: an operation whose result hangs on the last bits of what goes in, such as an inverse.

        What falls on the other side of a step may be anything else: another index, another branch. Of a zero none is left either,
        and it is small nevertheless: what the program makes of it is another question.
        """
        return self.unbounded or self.steps or (self.relative > GROSS and not self.of_zero)

    @property
    def ill_conditioned(self) -> bool:
        """Whether eager's own numbers were seen to move about as far once rounded otherwise."""
        return self.spread is not None and self.spread > self.difference / EXPLAINS


def _tuple(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.8g}"


def _few(value: float) -> str:
    return f"{value:.2g}"
