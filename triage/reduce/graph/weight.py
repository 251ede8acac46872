"""What "smaller" means: one explicit order over cases, which also prefers the readable.

Compared in turn: operations first, then everything else that a reader must take in. The driver never accepts a candidate
that is heavier than the one it has, so a reduction ends, and never ends larger than it began.
"""

from __future__ import annotations

from typing import Any

from triage.model import trees
from triage.model.graphcase import Context, GraphCase, GraphInput, GraphNode
from triage.reduce.graph.scalars import elements
from triage.reduce.graph.wiring import operations
from triage.reduce.printing.fills import contiguous
from triage.reduce.printing.literals import numbers_in, written

Weight = tuple[float, ...]

TABLE = 64  # elements, from which written values count as much as an operation
_FILLS = ("ones", "zeros", "arange", "full", "linspace", "rand", "randn", "randint", "uniform", "empty", "values")


def weight(case: GraphCase) -> Weight:
    """The sort key of a case: lighter is better."""
    nodes = [*case.nodes, *case.nested_nodes]
    return (
        len(operations(case)) + sum(_written_out(item) for item in case.inputs),
        len(case.nodes),
        len(case.preamble),
        bool(case.backward) + _context(case.context),
        len(case.inputs),
        len(list(trees.refs(list(case.outputs)))),
        sum(_layout(item) for item in case.inputs),
        sum(elements(meta) for item in case.inputs for meta in (item.meta, item.view_of) if meta is not None),
        sum(_values(item) for item in case.inputs),
        sum(len(node.args) + len(node.kwargs) for node in nodes),
        sum(_numbers(node) for node in nodes),
    )


def _context(context: Context) -> int:
    defaults = Context()
    simple = sum(bool(getattr(context, name) != getattr(defaults, name)) for name in _SWITCHES)
    return simple + len(context.config) + len(context.options)


_SWITCHES = ("grad_enabled", "inference_mode", "autocast", "deterministic", "dynamic", "fullgraph", "mode")


def _layout(item: GraphInput) -> float:
    """Ranks, odd strides, offsets, dtypes, devices, symbolic sizes, grad: each is one more thing to read."""
    meta = item.meta
    if meta is None:
        return 1.0
    odd = tuple(meta.stride) != contiguous(meta.shape)
    cost = len(meta.shape) + 2 * odd + (meta.storage_offset != 0) + bool(meta.lazy) + 2 * (meta.dtype != "float32")
    shared = 2 * (item.base is not None) + 2 * (item.view_of is not None)
    return cost + _device(meta.device) + len(meta.symbols) + meta.requires_grad + (item.role != "input") + shared


def _device(device: str) -> int:
    """Anybody has a CPU, and who has a GPU need not have a second one."""
    return 0 if device == "cpu" else 1 + (":" in device)


def _written_out(item: GraphInput) -> int:
    """A table of numbers is as hard to take in as an operation, the more so the longer it is."""
    if item.fill != "values" or item.meta is None:
        return 0
    return max(0, written(list(numbers_in(item.data))) // TABLE).bit_length()


def _values(item: GraphInput) -> int:
    kind = item.fill.partition(":")[0]
    if item.fill == "values":
        return len(_FILLS) + sum(_element(number) for number in numbers_in(item.data))
    return _FILLS.index(kind) if kind in _FILLS else len(_FILLS)


def _element(number: Any) -> int:
    """Of a table: 0 is nothing to read, the more digits the more."""
    return 0 if repr(number) in ("0", "0.0", "False") else 1 if number == 1 else 1 + len(str(number))


def _numbers(node: GraphNode) -> float:
    arguments = [node.args, node.kwargs]
    plain = sum(number_cost(value) for _, value in trees.numbers(arguments))
    return plain + sum(10 + sum(map(number_cost, number["complex"])) for _, number in trees.complexes(arguments))


def number_cost(value: int | float) -> float:
    """1 before 0 before 2 before other small whole numbers before fractions."""
    order: dict[int | float, int] = {1: 0, 0: 1, 2: 2}
    if value in order:
        return order[value] + 0.5 * isinstance(value, float)
    whole = isinstance(value, int) or value.is_integer()
    return 3 + min(abs(value), 1e6) / 1e6 + (0 if whole else 2) + (value < 0)
