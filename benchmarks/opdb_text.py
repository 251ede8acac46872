"""Operator samples as scripts: an operation, its arguments as literals, and a check by the script itself.

The elements of a tensor are written down as they are, since it is often a certain number on which a failure hangs; a
tensor too large for that is made of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_ELEMENTS = 300  # that are written down
MOST_DRAWN = 20_000
STRICT = ", check_stride=True"
FORWARD = """\
import torch
from torch import inf, nan
{before}

def f({parameters}):
    return {call}


def inputs():
    return [{values}]


torch.manual_seed(0)
want = f(*inputs())
torch.manual_seed(0)
got = torch.compile({compiled})(*inputs())
torch.testing.assert_close(got, want, equal_nan=True{strict})
"""
BACKWARD = """\
import torch
from torch import inf, nan
{before}

def f({parameters}):
    return {call}


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
got = gradients(torch.compile({compiled}))
for mine, other in zip(got, want):
    if other is not None:
        torch.testing.assert_close(mine, other, equal_nan=True{strict})
"""


class UnprintableError(ValueError):
    """An argument that has no short literal."""


@dataclass(frozen=True)
class Call:
    """What a script compiles: `name(*args, **kwargs)`, or with `method` that of its first argument.

    `before` is what the name needs, as lines of their own.
    """

    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    method: bool = False
    before: str = ""


def script(call: Call, backend: str, *, backward: str = "", strides: bool = False, dynamic: bool = False) -> str:
    """The sample as a script. `backward`: floating_point or complex, whose gradients are compared. `strides`: these too.

    Without a backend it is compiled as most people do. Raises UnprintableError.
    """
    named = {f"k_{key}": value for key, value in call.kwargs.items()}
    numbered = [f"a{number}" for number in range(len(call.args))]
    given = [*numbered, *(f"{key}=k_{key}" for key in call.kwargs)]
    name, given = (f"{given[0]}.{call.name}", given[1:]) if call.method else (call.name, given)
    compiled = ["f", *([f'backend="{backend}"'] if backend else []), *(["dynamic=True"] if dynamic else [])]
    return (BACKWARD if backward else FORWARD).format(
        before=f"\n{call.before}" if call.before else "",
        parameters=", ".join([*numbered, *named]),
        call=f"{name}({', '.join(given)})",
        values=", ".join(literal(value) for value in (*call.args, *named.values())),
        compiled=", ".join(compiled),
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
    if (
        str(value.layout) != "torch.strided"
        or value.is_quantized
        or type(value).__name__ not in ("Tensor", "Parameter")
    ):
        raise UnprintableError("an unusual tensor")
    shape = tuple(value.shape)
    if value.numel() > MOST_ELEMENTS:
        return f"{_many(value)}({shape}, dtype={value.dtype})"
    text = f"torch.tensor({value.tolist()!r}, dtype={value.dtype})"
    if 0 in shape[:-1]:
        text = f"{text}.reshape({shape})"
    if value.is_contiguous() or 0 in value.stride():
        return text
    return f"torch.empty_strided({shape}, {tuple(value.stride())}, dtype={value.dtype}).copy_({text})"


def _many(value: Any) -> str:
    """For a tensor too large to be written down: other numbers, which may not do for integers."""
    if value.numel() > MOST_DRAWN:
        raise UnprintableError("a large tensor")
    if (value.dtype.is_floating_point and value.dtype.itemsize > 1) or value.dtype.is_complex:
        return "torch.randn"
    return "torch.ones"
