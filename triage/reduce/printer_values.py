"""The end of a reproducer of a wrong result: eager, compiled and a double-precision reference are compared.

`torch._dynamo.utils.same` judges, as PyTorch's own fuzzers and minifier do: compiled may be as far from the reference as
eager is, but not further. Inputs and the seed are made anew for every run, so that in-place changes, accumulated
gradients and random numbers are the same in all three.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.reduce.printer_run import Calls, in_modes, loss


def values_lines(calls: Calls, creations: Sequence[tuple[str, str]], *, seed: list[str], reference: bool) -> list[str]:
    """A function `run(fn, dtype)` that returns outputs (and gradients), and the comparison."""
    parameter = "fn, dtype=None" if reference else "fn"
    lines = [*seed]
    for name, text in creations:
        lines.append(f"{name} = {text}")
    converted = [name for name, _ in creations if name in calls.floating]
    if reference and converted:
        lines.append("if dtype is not None:")
        for name in converted:
            grad = ".detach().to(dtype).requires_grad_()" if name in calls.leaves else ".to(dtype)"
            lines.append(f"    {name} = {name}{grad}")
    lines.append(f"out = fn({', '.join(calls.parameters)})")
    if not calls.backward:
        lines.append("return out")
    else:
        lines += _backward(calls)
    check = ["expected, actual = run(f), run(" + calls.compiled + ")"]
    exact = ", run(f, torch.float64)" if reference else ""
    check.append(f'assert same(expected, actual{exact}, equal_nan=True), f"eager: {{expected}}, compiled: {{actual}}"')
    return [f"def run({parameter}):", *("    " + line for line in lines), "", "", *in_modes(calls.modes, check)]


def _backward(calls: Calls) -> list[str]:
    if len(calls.outputs) == 1:
        total = loss("out", calls.outputs[0])
    else:
        total = " + ".join(
            loss(f"out[{index}]", item) for index, item in enumerate(calls.outputs) if item.differentiable
        )
        total = f"({total})"
    grads = ", ".join(f"{name}.grad" for name in calls.leaves)
    return [f"{total}.backward()", f"return out, {grads}"]
