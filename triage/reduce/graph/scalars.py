"""The value of nodes that compute sizes: `x.size(0)`, `s0 * 2`, an element of `x.shape`.

A slice of a graph that leaves such a node out can write its number instead. Only what follows from recorded shapes and
other known numbers is answered; `item()` and the like stay unknown.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from triage.model import trees
from triage.model.effects import operation
from triage.model.graphcase import GraphNode, TensorMeta

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "truediv": operator.truediv, "mod": operator.mod, "neg": operator.neg, "pow": operator.pow, "eq": operator.eq,
    "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "sym_int": int,
    "sym_float": float, "sym_max": max, "sym_min": min, "int": int, "float": float,
}  # fmt: skip


class _UnknownValueError(Exception):
    """An argument whose number is not known."""


def evaluate(node: GraphNode, known: Mapping[str, Any], metas: Mapping[str, TensorMeta]) -> Any:
    """The number (or tuple of numbers) a node gives, None where it cannot be told.

    `known` are numbers by name, `metas` the tensors by name.
    """
    name = operation(node)
    source = trees.as_ref(node.args[0]) if node.args else None
    meta = metas.get(source) if source is not None else None
    try:
        if meta is not None:
            return _of_tensor(name, node, meta, known)
        if name in ("getitem", "__getitem__") or node.kind == "get_item":
            index = _number(node.args[1], known)
            items = known.get(source or "")
            return items[index] if isinstance(items, tuple) and isinstance(index, int) else None
        if name in _ARITHMETIC and node.args and not node.kwargs:
            result = _ARITHMETIC[name](*(_number(item, known) for item in node.args))
            return result if isinstance(result, (int, float)) else None
    except (_UnknownValueError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return None


def _of_tensor(name: str, node: GraphNode, meta: TensorMeta, known: Mapping[str, Any]) -> Any:
    rest = [_number(item, known) for item in node.args[1:] if not isinstance(item, str)]
    if name in ("size", "sym_size"):
        return meta.shape[rest[0]] if rest else tuple(meta.shape)
    if name in ("stride", "sym_stride"):
        return meta.stride[rest[0]] if rest else tuple(meta.stride)
    if name == "getattr" and "shape" in node.args[1:]:
        return tuple(meta.shape)
    if name in ("dim", "ndimension"):
        return len(meta.shape)
    if name in ("numel", "sym_numel"):
        return elements(meta)
    return None


def elements(meta: TensorMeta) -> int:
    """Number of elements of a tensor."""
    return math.prod(meta.shape)


def _number(tree: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(tree, (int, float)):
        return tree
    name = trees.as_ref(tree)
    if name is not None and isinstance(known.get(name), (int, float)):
        return known[name]
    raise _UnknownValueError
