"""The inputs of a graph: its placeholders, and the parameters, buffers and constants that the graph module itself holds.

A symbolic size that is also a dimension of a tensor input is no input of its own: it is read off the tensor.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Tuple

from .. import compat
from . import values


class Inputs:
    """`symbols` maps each symbol to the value that holds it; `described` is a list of GraphInput dictionaries."""

    def __init__(self, gm: Any, examples: List[Any], real: List[Any], record: bool) -> None:
        self.record = record
        self._left = values.RECORDED_ALTOGETHER
        self.symbols: Dict[str, str] = {}
        self.floats: Set[str] = set()  # inputs that Dynamo wraps into a tensor and unwraps with item()
        self._inputs: List[Dict[str, Any]] = []
        self._sizes: List[Tuple[str, str, int]] = []  # (name, tensor input, dimension)
        self._names: Dict[str, str] = {}
        self._storages: Dict[Any, str] = {}
        self._held: Dict[int, str] = {}
        nodes = [node for node in gm.graph.nodes if node.op == "placeholder"]
        seen = [_Placeholder(node, examples, real, index) for index, node in enumerate(nodes)]
        dimensions = _dimensions(seen)
        for item in seen:
            self._placeholder(item, dimensions)

    def described(self) -> List[Dict[str, Any]]:
        return list(self._inputs)

    def name_of(self, node: Any) -> str:
        return self._names.get(node.name, node.name)

    def size_nodes(self) -> List[Dict[str, Any]]:
        """Nodes that read symbolic sizes off the tensors they belong to."""
        return [
            graph_node(name, "call_method", "size", [{"ref": tensor}, dimension], {}, [None])
            for name, tensor, dimension in self._sizes
        ]

    def held(self, node: Any, tensor: Any) -> str:
        """A parameter, buffer or constant of the graph module itself, once per tensor."""
        import torch

        if id(tensor) in self._held:
            return self._held[id(tensor)]
        self._held[id(tensor)] = node.name
        role = "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
        if role == "buffer" and "constant" in node.target:
            role = "constant"
        entry = self._tensor(node.name, tensor, tensor, role, str(node.target))
        elements = values.data(tensor, values.INLINE_CONSTANT) if role == "constant" else None
        if elements is not None:
            entry["fill"], entry["data"] = "values", elements
        self._inputs.append(entry)
        return node.name

    def _placeholder(self, item: "_Placeholder", dimensions: Dict[str, Tuple[str, int]]) -> None:
        if item.is_wrapped_float():
            self.floats.add(item.name)
            value = values.number(float(item.real))
            self._inputs.append(graph_input(item.name, kind="float", value=value, source=item.source))
            return
        if item.subclass():
            reason = "a tensor of the subclass %s" % item.subclass()
            self._inputs.append(graph_input(item.name, kind="opaque", value=reason, source=item.source))
            return
        if values.is_tensor(item.value):
            self._inputs.append(self._tensor(item.name, item.value, item.real, item.role(), item.source))
            return
        text = values.symbol(item.value) if item.is_scalar() else None
        if text is not None:
            self.symbols.setdefault(text, item.name)
        if text is not None and text in dimensions and item.is_size():
            tensor, dimension = dimensions[text]
            self._sizes.append((item.name, tensor, dimension))
        elif item.is_scalar():
            value = values.number(values.hint(item.value))
            kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
            self._inputs.append(graph_input(item.name, kind=kind, value=value, source=item.source))
        else:
            reason = "an input of type %s" % type(item.value).__name__
            self._inputs.append(graph_input(item.name, kind="opaque", value=reason, source=item.source))

    def _tensor(self, name: str, tensor: Any, real: Any, role: str, source: str) -> Dict[str, Any]:
        import torch

        seen = real if values.is_real(real) else tensor
        entry = graph_input(name, meta=values.tensor_meta(tensor), role=role, source=source, fill=values.fill(seen))
        entry["meta"]["lazy"] = compat.left_undone(seen)  # a fake tensor does not know of a zero
        if role == "parameter" or isinstance(tensor, torch.nn.Parameter):
            entry["role"] = "parameter"
            # A parameter that is all zeros or ones is an untrained bias or scale; it says nothing.
        entry["base"] = self._base(name, seen)
        entry["view_of"] = _view_of(seen)
        limit = values.recorded(entry["role"]) if self.record else 0
        if not limit and entry["fill"].startswith("randint") and seen.dtype != torch.bool:
            # Whole numbers may be offsets, lengths or an order: a table of random ones is often none.
            limit = values.INLINE_CONSTANT
        if limit:
            elements = values.data(seen, min(limit, self._left))
            if elements is not None:
                self._left -= seen.numel()
                entry["fill"], entry["data"] = "values", elements
        return entry

    def _base(self, name: str, tensor: Any) -> Optional[str]:
        address = compat.address_of(tensor) if values.is_real(tensor) else None
        if address is None:
            return None
        owner = self._storages.setdefault(address, name)
        return None if owner == name else owner


def _view_of(tensor: Any) -> Optional[Dict[str, Any]]:
    """The TensorMeta dictionary of the base that a real tensor is a view of: AOTAutograd treats views in a way of its own."""
    base = compat.base_of(tensor) if values.is_real(tensor) else None
    return None if base is None else values.tensor_meta(base)


def graph_input(name: str, **rest: Any) -> Dict[str, Any]:
    """A GraphInput dictionary."""
    entry = {"name": name, "kind": "tensor", "meta": None, "role": "input", "value": None, "fill": "randn"}
    entry.update({"data": None, "base": None, "view_of": None, "source": "", "gradient_of": None})
    entry.update(rest)
    return entry


class _Placeholder:
    """One placeholder with everything known of it: the recorded value, a real one, and what the script calls it."""

    def __init__(self, node: Any, examples: List[Any], real: List[Any], index: int) -> None:
        self.name = node.name
        argument = node.meta.get("grapharg")
        example = examples[index] if index < len(examples) else None
        value = node.meta.get("example_value", node.meta.get("val"))
        self.value = example if value is None else value
        self.source, self._source = _source(node, argument)
        self._wrapped = bool(getattr(argument, "pass_arg_as_tensor", False))
        self._only_items = all((user.op, user.target) == ("call_method", "item") for user in node.users)
        self._given = _given(argument)
        self.real = real[index] if index < len(real) else None
        if self.real is None and values.is_real(self._given):
            self.real = self._given
        if self.real is None and values.is_real(example):
            self.real = example

    def is_wrapped_float(self) -> bool:
        """A float of the program that the graph takes as a tensor of no dimensions (specialize_float=False)."""
        if not (self._wrapped and self._only_items and values.is_real(self.real)):
            return False
        return self.real.dim() == 0 and values.name_of(self.real.dtype) == "float64"

    def subclass(self) -> str:
        """The name of a tensor subclass that a script cannot make; empty for ordinary tensors."""
        import torch

        value = self._given if self._given is not None else self.value
        plain = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor))
        names = ("FakeTensor", "FunctionalTensor", "UninitializedParameter")
        if not values.is_tensor(value) or type(value) in plain or type(value).__name__ in names:
            return ""
        return type(value).__qualname__

    def is_scalar(self) -> bool:
        import torch

        kinds = (bool, int, float, torch.SymInt, torch.SymFloat, getattr(torch, "SymBool", torch.SymInt))
        return isinstance(self.value, kinds)

    def is_size(self) -> bool:
        """Whether a scalar may be read off a tensor: no source known, or the source is a tensor's size."""
        return self._source is None or type(self._source).__name__ == "TensorPropertySource"

    def role(self) -> str:
        import torch

        if isinstance(self.value, torch.nn.Parameter) or "_parameters[" in self.source:
            return "parameter"
        return "buffer" if "_buffers[" in self.source else "input"


def _source(node: Any, argument: Any) -> Tuple[str, Any]:
    source = getattr(argument, "source", None) or getattr(node, "_dynamo_source", None)
    if source is None:
        return "", None
    try:
        name = source.name() if callable(source.name) else source.name
    except Exception:
        name = ""
    return str(name), source


def _given(argument: Any) -> Any:
    """The program's own object behind a Dynamo graph argument, while it is alive."""
    try:
        return argument.example
    except Exception:
        return None


def _dimensions(placeholders: List[_Placeholder]) -> Dict[str, Tuple[str, int]]:
    found: Dict[str, Tuple[str, int]] = {}
    for item in placeholders:
        if values.is_tensor(item.value):
            for dimension, size in enumerate(item.value.shape):
                text = values.symbol(size)
                if text is not None:
                    found.setdefault(text, (item.name, dimension))
    return found


def graph_node(name: str, kind: str, target: str, args: List[Any], kwargs: Dict[str, Any], out: List[Any], **rest: Any):
    """A GraphNode dictionary."""
    node = {"name": name, "kind": kind, "target": target, "args": args, "kwargs": kwargs, "out": out}
    node.update({"multi": False, "where": "", "module": "", "opaque": ""})
    node.update(rest)
    return node
