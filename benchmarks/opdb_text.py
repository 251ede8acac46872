"""Operator samples as scripts: an operation, its arguments as literals, and a check by the script itself.

The elements of a tensor are written down as they are, since it is often a certain number on which a failure hangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_ELEMENTS = 300
STRICT = ", check_stride=True"
FORWARD = """\
import torch
from torch import inf, nan


def f({parameters}):
    return {name}({call})


def inputs():
    return [{values}]


torch.manual_seed(0)
want = f(*inputs())
torch.manual_seed(0)
got = torch.compile(f, backend="{backend}")(*inputs())
torch.testing.assert_close(got, want, equal_nan=True{strict})
"""
BACKWARD = """\
import torch
from torch import inf, nan


def f({parameters}):
    return {name}({call})


def inputs():
    return [{values}]


def gradients(function):
    torch.manual_seed(0)
    values = inputs()
    leaves = [each.requires_grad_() for each in values if isinstance(each, torch.Tensor) and each.dtype.is_{family}]
    results = function(*values)
    results = results if isinstance(results, (tuple, list)) else [results]
    loss = sum(each.abs().sum() for each in results if isinstance(each, torch.Tensor) and each.requires_grad)
    return torch.autograd.grad(loss, leaves, allow_unused=True)


want = gradients(f)
got = gradients(torch.compile(f, backend="{backend}"))
for mine, other in zip(got, want):
    if other is not None:
        torch.testing.assert_close(mine, other, equal_nan=True{strict})
"""


class UnprintableError(ValueError):
    """An argument that has no short literal."""


def script(
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    backend: str,
    *,
    backward: str = "",
    strides: bool = False,
) -> str:
    """The sample as a script. `backward`: floating_point or complex, whose gradients are compared. `strides`: these too."""
    named = {f"k_{key}": value for key, value in kwargs.items()}
    parameters = [*(f"a{number}" for number in range(len(args))), *named]
    call = [*(f"a{number}" for number in range(len(args))), *(f"{key}=k_{key}" for key in kwargs)]
    return (BACKWARD if backward else FORWARD).format(
        parameters=", ".join(parameters),
        name=name,
        call=", ".join(call),
        values=", ".join(literal(value) for value in (*args, *named.values())),
        backend=backend,
        family=backward,
        strict=STRICT if strides else "",
    )


def literal(value: Any) -> str:
    """The expression that makes this argument. Raises UnprintableError."""
    if hasattr(value, "numel") and hasattr(value, "tolist"):
        return _tensor(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        inner = ", ".join(literal(each) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        return f"slice({value.start!r}, {value.stop!r}, {value.step!r})"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if type(value).__module__ == "torch" and str(value).startswith("torch."):  # a dtype, a layout, a memory format
        return str(value)
    raise UnprintableError(f"a {type(value).__name__}")


def _tensor(value: Any) -> str:
    if value.numel() > MOST_ELEMENTS or str(value.layout) != "torch.strided" or value.is_quantized:
        raise UnprintableError("a large or unusual tensor")
    text = f"torch.tensor({value.tolist()!r}, dtype={value.dtype})"
    return text if 0 not in value.shape[:-1] else f"{text}.reshape({tuple(value.shape)})"
