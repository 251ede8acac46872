"""Short ways to write graph cases for the tests of the printer."""

from __future__ import annotations

from typing import Any

from triage.model.graphcase import Context, GraphCase, GraphInput, GraphNode, TensorMeta
from triage.reduce.printing.fills import contiguous


def meta(*shape: int, **rest: Any) -> TensorMeta:
    return TensorMeta(**{"shape": shape, "stride": contiguous(shape), "dtype": "float32", **rest})


def tensor(name: str, *shape: int, **rest: Any) -> GraphInput:
    """An input; arguments of TensorMeta and of GraphInput may be mixed."""
    own = {key: rest.pop(key) for key in ("role", "fill", "data", "base", "view_of", "source") if key in rest}
    return GraphInput(name, meta=meta(*shape, **rest), **own)


def ref(name: str) -> dict[str, str]:
    return {"ref": name}


def node(name: str, target: str, *args: Any, out: Any = None, **kwargs: Any) -> GraphNode:
    """A call; a string argument that starts with % is a reference, a target that starts with a dot is a method."""
    kind = "call_method" if target.startswith(".") else "call_function"
    metas = out if isinstance(out, list) else [out]
    return GraphNode(
        name, kind, target.lstrip("."), [_tree(item) for item in args], {key: _tree(item) for key, item in kwargs.items()},
        out=metas, multi=isinstance(out, list),
    )  # fmt: skip


def case(inputs: list[GraphInput], nodes: list[GraphNode], *outputs: str, **rest: Any) -> GraphCase:
    return GraphCase(
        **{
            "level": "dynamo",
            "inputs": tuple(inputs),
            "nodes": tuple(nodes),
            "outputs": tuple(map(_tree, outputs)),
            **rest,
        }
    )


def grad_off(**rest: Any) -> Context:
    return Context(grad_enabled=False, **rest)


def _tree(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("%"):
        return ref(value[1:])
    if isinstance(value, tuple):
        return {"tuple": [_tree(item) for item in value]}
    if isinstance(value, list):
        return [_tree(item) for item in value]
    return value
