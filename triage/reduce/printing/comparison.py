"""The end of a reproducer of a wrong result: eager, compiled and a double-precision reference are compared.

`torch._dynamo.utils.same` judges, as PyTorch's own fuzzers and minifier do: compiled may be as far from the reference as
eager is, but not further. Where runs influence each other (in-place changes, accumulated gradients, random numbers), a
function makes the inputs anew for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triage.reduce.printing.calls import Calls, backward_of_out, begun, in_modes, penalty
from triage.reduce.printing.fills import COMPLEX

_GRAD = ".requires_grad_()"


@dataclass(frozen=True)
class Creation:
    """How an argument is made. `view` says that it shares the storage of an earlier one; `dtype` is of floating ones only."""

    name: str
    text: str
    dtype: str | None = None
    view: bool = False


@dataclass(frozen=True)
class Comparing:
    """How values are compared: against a double-precision `reference`, or (`close`) by torch.testing.assert_close.

    `fine` is the tolerance where that of `same` is too coarse. With `zeros` a gradient may be None, and counts as zeros.
    """

    reference: bool = True
    close: bool = False
    fine: float = 0.0
    zeros: bool = False


def values_lines(
    calls: Calls, made: Sequence[Creation], *, seed: Sequence[str], how: Comparing, alone: bool
) -> list[str]:
    """The runs and their comparison; `alone` says that runs influence each other. All lines of the script's end."""
    exact = how.reference and any(item.dtype not in (None, "float64", "complex128") for item in made)
    if not alone and not calls.backward:
        return _side_by_side(calls, made, seed, exact, how)
    dtypes = sorted({item.dtype for item in made if item.dtype is not None and item.dtype not in COMPLEX})
    default = f"torch.{dtypes[0]}" if len(dtypes) == 1 else None
    lines = list(seed)
    lines += [f"{item.name} = {_converted(item, default) if exact else item.text}" for item in made]
    changed = [name for name in calls.parameters if name in calls.changed]
    out = ["out"] if calls.outputs or not changed else []
    forward = ["out = " * len(out) + f"fn({', '.join(calls.parameters)})"]
    # Gradients are taken outside of autocast, as programs do.
    lines += in_modes(calls.modes, forward) if calls.backward else forward
    returned = [*out, *changed]
    if calls.backward:
        lines += _backward(calls)
        returned += _gradients(calls.leaves) if how.zeros else [f"{name}.grad" for name in calls.leaves]
    lines.append(f"return {', '.join(returned)}")
    head = f"def run(fn, dtype={default}):" if exact else "def run(fn):"
    check = [f"expected, actual = run({calls.function}), run({calls.compiled})"]
    check += _comparison(f"run({calls.function}, torch.float64)" if exact else "", how)
    check = check if calls.backward else in_modes(calls.modes, check)
    return [head, *("    " + line for line in lines), "", "", *check]


def _gradients(leaves: Sequence[str]) -> list[str]:
    """Neither `same` nor `assert_close` compares a tensor with None."""
    text = "torch.zeros_like({0}) if {0}.grad is None else {0}.grad"
    return (
        [text.format(*leaves)] if len(leaves) == 1 else [f"*({text.format('leaf')} for leaf in ({', '.join(leaves)}))"]
    )


def _side_by_side(
    calls: Calls, made: Sequence[Creation], seed: Sequence[str], exact: bool, how: Comparing
) -> list[str]:
    lines = [*seed, *(f"{item.name} = {item.text}" for item in made)]
    dtypes: Mapping[str, str | None] = {item.name: item.dtype for item in made}
    arguments = ", ".join(calls.parameters)
    check = [f"expected = {calls.function}({arguments})", f"actual = {calls.compiled}({arguments})"]
    doubled = ", ".join(_double(name, dtypes.get(name)) for name in calls.parameters)
    check += _comparison(f"{calls.function}({doubled})" if exact else "", how)
    return [*lines, *in_modes(calls.modes, check)]


def _double(name: str, dtype: str | None) -> str:
    if dtype is None:
        return name
    return f"{name}.to(torch.complex128)" if dtype in COMPLEX else f"{name}.double()"


def _comparison(exact: str, how: Comparing) -> list[str]:
    if how.close:
        return ["torch.testing.assert_close(actual, expected, equal_nan=True)"]
    tolerance = [f"tol={how.fine:g}".replace("e-0", "e-")] if how.fine else []  # 1e-4 unless told
    arguments = ", ".join(["expected", "actual", *([exact] if exact else []), *tolerance, "equal_nan=True"])
    return [f'assert same({arguments}), f"eager: {{expected}}, compiled: {{actual}}"']


def _converted(item: Creation, default: str | None) -> str:
    """The creation in the precision of the run."""
    if item.dtype is None or item.view:
        return item.text
    wanted = "dtype" if default is not None else f"dtype or torch.{item.dtype}"
    if item.dtype in COMPLEX:
        wanted = "dtype.to_complex()" if default is not None else f"dtype.to_complex() if dtype else torch.{item.dtype}"
    text, grad = item.text, ""
    clone = ".clone()" if text.endswith(".clone()") else ""
    text = text.removesuffix(".clone()")
    for ending, rest in ((", requires_grad=True)", ")"), (_GRAD, "")):
        if text.endswith(ending):
            text, grad = text.removesuffix(ending) + rest, _GRAD
    return f"{text}.to({wanted}){grad}{clone}"


def _backward(calls: Calls) -> list[str]:
    if calls.arriving and calls.backward == 1:
        return begun(calls)
    return penalty(calls) if calls.backward > 1 else [backward_of_out(calls)]
