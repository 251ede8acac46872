"""Small cases for the reducer's tests, written as briefly as their graphs are small."""

from __future__ import annotations

from typing import Any

from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.reduce.graph.weight import contiguous


def meta(*shape: int, dtype: str = "float32", **rest: Any) -> TensorMeta:
    return TensorMeta(shape=shape, stride=rest.pop("stride", contiguous(shape)), dtype=dtype, **rest)


def tensor(name: str, *shape: int, dtype: str = "float32", **rest: Any) -> GraphInput:
    inner = {
        key: rest.pop(key) for key in ("stride", "requires_grad", "storage_offset", "symbols", "device") if key in rest
    }
    return GraphInput(name, meta=meta(*shape, dtype=dtype, **inner), **rest)


def r(name: str) -> dict[str, str]:
    return {"ref": name}


def op(name: str, target: str, *args: Any, out: Any = None, **rest: Any) -> GraphNode:
    """A call; arguments that are strings beginning with % are references. `out` is one meta, or a list for a tuple."""
    read = [r(item[1:]) if isinstance(item, str) and item.startswith("%") else item for item in args]
    multi = isinstance(out, list)
    metas = out if isinstance(out, list) else [out]
    return GraphNode(name, rest.pop("kind", "call_function"), target, read, out=metas, multi=multi, **rest)


def case(inputs: list[GraphInput], nodes: list[GraphNode], *outputs: str, **rest: Any) -> GraphCase:
    return GraphCase(
        rest.pop("level", "dynamo"), tuple(inputs), tuple(nodes), tuple(r(name) for name in outputs), **rest
    )


def names(found: GraphCase) -> list[str]:
    """The nodes of a case."""
    return [node.name for node in found.nodes]


def returned(found: GraphCase) -> list[str]:
    return [tree["ref"] for tree in found.outputs]


def input_names(found: GraphCase) -> list[str]:
    return [item.name for item in found.inputs]
