"""The end of a reproducer: how its function is called, uncompiled first, then compiled, and what is compared.

`Calls` is what the rest of the script says of the function; the three checks are: an exception (or a crash) shows as
itself, wrong values as a failed comparison against a double-precision reference, wrong strides as a failed assertion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """One output of the function: whether it carries a gradient, and its form."""

    differentiable: bool = False
    complex: bool = False
    scalar: bool = False
    tensor: bool = True


@dataclass(frozen=True)
class Calls:
    """`parameters` are the arguments as written in a call, `floating` those that a reference computes in double precision."""

    parameters: tuple[str, ...]
    outputs: tuple[Output, ...]
    compiled: str  # torch.compile(f, ...)
    backward: bool = False
    modes: tuple[str, ...] = ()  # `with` headers round the calls
    fresh: bool = False  # inputs are made anew for each call, by inputs()
    eager_first: bool = True
    floating: frozenset[str] = frozenset()
    leaves: tuple[str, ...] = ()  # parameters whose gradients are compared


def exception_lines(calls: Calls) -> list[str]:
    """Run eagerly, run compiled: the failure shows as itself."""
    arguments = "*inputs()" if calls.fresh else ", ".join(calls.parameters)
    lines = []
    if calls.eager_first:
        lines += _noted(used(calls, f"f({arguments})"), "  # eager works")
    single = f"{calls.compiled}({arguments})"
    last = used(calls, single)
    if max(map(len, last)) > 118:
        lines.append(f"compiled = {calls.compiled}")
        last = used(calls, f"compiled({arguments})")
    return in_modes(calls.modes, lines + last)


def _noted(lines: list[str], note: str) -> list[str]:
    return [*lines[:-1], lines[-1] + note]


def used(calls: Calls, call: str) -> list[str]:
    """The statements that use the result of a call: nothing, or a backward pass."""
    if not calls.backward:
        return [call]
    wanted = [output for output in calls.outputs if output.differentiable]
    if len(calls.outputs) == 1:
        return [loss(call, wanted[0]) + ".backward()"]
    if len(wanted) == len(calls.outputs) and not any(item.complex for item in wanted):
        return [f"sum(out.sum() for out in {call}).backward()"]
    if len(wanted) == 1:
        position = calls.outputs.index(wanted[0])
        return [loss(f"{call}[{position}]", wanted[0]) + ".backward()"]
    terms = [loss(f"out[{index}]", item) for index, item in enumerate(calls.outputs) if item.differentiable]
    return [f"out = {call}", f"({' + '.join(terms)}).backward()"]


def loss(text: str, output: Output) -> str:
    """A real number that depends on the output."""
    if output.complex:
        return f"{text}.abs()" if output.scalar else f"{text}.abs().sum()"
    return text if output.scalar else f"{text}.sum()"


def strides_lines(calls: Calls) -> list[str]:
    """Shape, dtype and strides must be those of eager mode."""
    arguments = "*inputs()" if calls.fresh else ", ".join(calls.parameters)
    if len(calls.outputs) == 1:
        lines = [f"expected = f({arguments})", f"actual = {calls.compiled}({arguments})"]
        return in_modes(calls.modes, lines) + _same_layout("actual", "expected", "")
    lines = [f"results = zip({calls.compiled}({arguments}), f({arguments}))"]
    if calls.eager_first:
        lines = [f"eager = f({arguments})", f"results = zip({calls.compiled}({arguments}), eager)"]
    body = _same_layout("actual", "expected", "    ")
    return [*in_modes(calls.modes, lines), "for actual, expected in results:", *body]


def _same_layout(actual: str, expected: str, indent: str) -> list[str]:
    return [
        f"{indent}assert {actual}.shape == {expected}.shape and {actual}.dtype == {expected}.dtype",
        f"{indent}assert {actual}.stride() == {expected}.stride(), "
        f'f"strides {{{actual}.stride()}} compiled, {{{expected}.stride()}} in eager"',
    ]


def in_modes(modes: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Lines inside one `with` statement."""
    if not modes:
        return list(lines)
    return [f"with {', '.join(modes)}:", *("    " + line for line in lines)]
