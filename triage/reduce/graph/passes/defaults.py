"""Positional arguments that are what they are by default, before one that is not: gone, and that one named.

`nn.Conv2d` hands all of its seven arguments on by position, so `groups` at the end kept the stride and the dilation. That is
the same call, written as a person would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from triage.model.effects import operation
from triage.model.graphcase import GraphCase
from triage.model.text import words
from triage.reduce.graph.edits import checked
from triage.reduce.graph.passes.proposal import Choice, map_node
from triage.reduce.graph.wiring import operations

_MODULES = ("torch", "torch.nn.functional", "torch._C._nn")
_REQUIRED = object()
_CONVOLUTION = (
    ("input", _REQUIRED), ("weight", _REQUIRED), ("bias", None), ("stride", 1), ("padding", 0), ("dilation", 1), ("groups", 1),
)  # fmt: skip
_TRANSPOSED = (*_CONVOLUTION[:5], ("output_padding", 0), ("groups", 1), ("dilation", 1))
_AVERAGE = (
    ("input", _REQUIRED), ("kernel_size", _REQUIRED), ("stride", None), ("padding", 0), ("ceil_mode", False),
    ("count_include_pad", True), ("divisor_override", None),
)  # fmt: skip
# Of what the modules of `torch.nn` call by position with all their settings: the parameters, from torch's documentation.
_PARAMETERS = {
    **dict.fromkeys(words("conv1d conv2d conv3d"), _CONVOLUTION),
    **dict.fromkeys(words("conv_transpose1d conv_transpose2d conv_transpose3d"), _TRANSPOSED),
    **dict.fromkeys(words("avg_pool2d avg_pool3d"), _AVERAGE),
    "embedding": (
        ("input", _REQUIRED), ("weight", _REQUIRED), ("padding_idx", None), ("max_norm", None), ("norm_type", 2.0),
        ("scale_grad_by_freq", False), ("sparse", False),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class LeaveOutDefaults:
    """The first `count` arguments by position, and these by name."""

    node: str
    count: int
    named: tuple[tuple[str, Any], ...]
    operation: str

    @property
    def what(self) -> str:
        return f"without the arguments of {self.operation} that are the defaults"

    def apply(self, case: GraphCase) -> GraphCase:
        return checked(
            case,
            map_node(
                case,
                self.node,
                lambda node: replace(node, args=node.args[: self.count], kwargs={**node.kwargs, **dict(self.named)}),
            ),
        )


def propose(case: GraphCase) -> Iterator[Choice]:
    """One choice for an operation of which an argument is the default, and a later one is not."""
    for node in operations(case):
        parameters = _PARAMETERS.get(operation(node), ()) if node.target.rpartition(".")[0] in _MODULES else ()
        if len(node.args) > len(parameters):
            continue
        given = list(zip(parameters, node.args, strict=False))
        count = next((at for at, ((_, plain), value) in enumerate(given) if _is(value, plain)), len(given))
        named = tuple((name, value) for (name, plain), value in given[count:] if not _is(value, plain))
        if named:
            yield Choice(f"defaults {node.name}", (LeaveOutDefaults(node.name, count, named, operation(node)),))


def _is(value: Any, plain: Any) -> bool:
    """Whether an argument is this default: itself, or once for each dimension."""
    if isinstance(value, dict) and "tuple" in value:
        value = value["tuple"]
    each = value if isinstance(value, list) else [value]
    return plain is not _REQUIRED and bool(each) and all(type(one) is type(plain) and one == plain for one in each)
