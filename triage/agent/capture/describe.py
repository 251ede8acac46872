"""A torch.fx graph as the dictionary that `encode(GraphCase)` gives.

`graph_case` is called where a graph is handed to a backend (level dynamo) or to Inductor (level aten), before anybody has
changed it. It never raises and never changes the graph: a node that cannot be told in words becomes opaque with a reason,
a whole graph that cannot be told says so in `unprintable`.

Symbolic sizes: a size that is a dimension of a tensor input becomes a node `size(input, dim)` in front of all others; any
other symbolic scalar stays an input of kind int, float or bool whose value is what was seen.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import values
from .arguments import Arguments
from .context import current_context
from .inputs import Inputs, graph_node
from .modules import inlined
from .own_backend import carried
from .targets import printable
from .where import module, where

__all__ = ["current_context", "graph_case"]


def graph_case(
    gm: Any,
    example_inputs: Sequence[Any],
    *,
    level: str,
    graph_id: str = "0/0",
    direction: str = "forward",
    backend: str = "inductor",
    context: Optional[Dict[str, Any]] = None,
    real_inputs: Optional[Sequence[Any]] = None,
    record_values: bool = False,
    own_backend: Tuple[Any, Dict[str, Any]] = (None, {}),
) -> Dict[str, Any]:
    """The GraphCase dictionary of `gm`.

    `example_inputs` are what the backend was given (fake or real), `real_inputs` real tensors in the same order where they
    are at hand. With `record_values` the elements of inputs are written too, as many as `values` has it.
    `own_backend` is the backend that the program gave to torch.compile, with what it is called with: its source is carried
    where it can be.
    """
    case: Dict[str, Any] = {
        "level": level,
        "inputs": [],
        "nodes": [],
        "outputs": [],
        "graph_id": graph_id,
        "direction": direction,
        "backward": level == "dynamo" and direction == "backward",
        "context": dict(context or {}),
        "preamble": [],
        "setup": [],
        "effects": [],
        "subgraphs": [],
        "backend": backend,
        "own_backend": [],
        "unprintable": [],
    }
    try:
        with values.outside_modes():
            walk = _Walk(case)
            walk.top(inlined(gm), list(example_inputs or ()), list(real_inputs or ()), record_values)
            walk.finish()
            case["own_backend"] = carried(*own_backend)
    except Exception as error:
        case["unprintable"].append("describing the graph failed: %s: %s" % (type(error).__name__, error))
    return case


class _Walk:
    """One walk over a graph and its sub-graphs, filling `case`."""

    def __init__(self, case: Dict[str, Any]) -> None:
        self.case = case
        self.targets: List[Any] = []
        self.subgraphs: Dict[int, str] = {}

    def top(self, gm: Any, examples: List[Any], real: List[Any], record: bool) -> None:
        inputs = Inputs(gm, examples, real, record)
        self.case["inputs"] = inputs.described()
        body = _Body(self, gm, inputs.symbols, inputs)
        self.case["nodes"] = inputs.size_nodes() + body.nodes
        # Parameters and constants that the graph module itself holds come after the graph's own inputs.
        self.case["inputs"] = inputs.described()
        outputs = body.outputs
        self.case["outputs"] = (
            outputs
            if isinstance(outputs, list)
            else outputs.get("tuple", [outputs])
            if isinstance(outputs, dict)
            else [outputs]
        )
        if not examples and not gm.graph.nodes:
            self.case["unprintable"].append("the graph is empty")

    def finish(self) -> None:
        from . import custom_ops

        told = custom_ops.preamble(self.targets)
        self.case["preamble"], missing, self.case["setup"], self.case["effects"] = told
        self.case["unprintable"].extend(missing)

    def subgraph(self, path: str, gm: Any) -> str:
        """The name under which a nested graph module is known; described at its first use."""
        if id(gm) in self.subgraphs:
            return self.subgraphs[id(gm)]
        taken = set(self.subgraphs.values())
        name, count = path.replace(".", "_"), 1
        while name in taken:
            name = "%s_%d" % (path.replace(".", "_"), count)
            count += 1
        self.subgraphs[id(gm)] = name
        body = _Body(self, inlined(gm), {}, None)
        self.case["subgraphs"].append(
            {"name": name, "inputs": body.inputs, "nodes": body.nodes, "outputs": body.outputs, "metas": body.metas}
        )
        return name


class _Body:
    """The nodes of one graph module. `inputs` takes parameters and constants; without it they become nodes."""

    def __init__(self, walk: _Walk, gm: Any, symbols: Dict[str, str], inputs: Optional[Inputs]) -> None:
        self.walk, self.gm, self.holder = walk, gm, inputs
        self.nodes: List[Dict[str, Any]] = []
        self.inputs: List[str] = []
        self.metas: List[Any] = []
        self.outputs: Any = None
        self.known: Dict[str, Any] = {}
        self.arguments = Arguments(self._reference, dict(symbols))
        for node in gm.graph.nodes:
            self._node(node)

    def _reference(self, node: Any) -> Any:
        return self.known.get(node.name, {"ref": node.name})

    def _node(self, node: Any) -> None:
        if node.op == "placeholder":
            self._placeholder(node)
        elif node.op == "get_attr":
            self._attribute(node)
        elif node.op == "output":
            self.outputs = self.arguments.encode(node.args[0])
        else:
            self._call(node)

    def _placeholder(self, node: Any) -> None:
        value = recorded(node)
        text = None if values.is_tensor(value) or value is None else values.symbol(value)
        if text is not None:
            self.arguments.symbols.setdefault(text, node.name)
        if self.holder is not None:
            self.known[node.name] = {"ref": self.holder.name_of(node)}
        else:
            self.inputs.append(node.name)
            self.metas.append(values.tensor_meta(value) if values.is_tensor(value) else None)

    def _attribute(self, node: Any) -> None:
        import torch

        value = self.gm
        for part in node.target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.fx.GraphModule):
            self.known[node.name] = {"graph": self.walk.subgraph(node.target, value)}
        elif values.is_tensor(value) and self.holder is not None:
            self.known[node.name] = {"ref": self.holder.held(node, value)}
        elif values.is_tensor(value):
            self.nodes.append(_constant_node(node, value))
        else:
            reason = "the graph holds %s, of type %s" % (node.target, type(value).__name__)
            self.known[node.name] = {"opaque": reason}

    def _is_float(self, node: Any) -> bool:
        return self.holder is not None and getattr(node, "name", None) in self.holder.floats

    def _call(self, node: Any) -> None:
        self.arguments.reasons = []
        if (node.op, node.target) == ("call_method", "item") and self._is_float(node.args[0]):
            self.known[node.name] = self._reference(node.args[0])
            return
        if node.op == "call_function" and str(node.target) == "aten.sym_size.int":
            kind, target, reason = "call_method", "size", ""
        elif node.op == "call_method":
            kind, target, reason = "call_method", str(node.target), ""
        elif node.op == "call_function":
            kind = "call_function"
            target, reason = printable(node.target)
            self.walk.targets.append(node.target)
        else:
            kind, target = "call_function", str(node.target)
            reason = "calls the module %s (%s)" % (node.target, _module_type(self.gm, node.target))
        args = [self.arguments.encode(item) for item in node.args]
        kwargs = {key: self.arguments.encode(item) for key, item in node.kwargs.items()}
        value = recorded(node)
        out, multi = values.metas(value)
        text = None if value is None or values.is_tensor(value) else values.symbol(value)
        if text is not None:
            self.arguments.symbols.setdefault(text, node.name)
        self.walk.targets += self.arguments.operators
        self.arguments.operators = []
        if target.split(".")[-1].startswith("triton_kernel_wrapper"):
            reason = "a Triton kernel of the user's"  # known to the graph by a number only
        reasons = ([reason] if reason else []) + self.arguments.reasons + _opaque_in([args, kwargs])
        self.nodes.append(
            graph_node(
                node.name,
                kind,
                target or str(getattr(node.target, "__name__", node.target)),
                args,
                kwargs,
                out,
                multi=multi,
                where=where(node),
                module=module(node),
                opaque="; ".join(dict.fromkeys(reasons)),
            )
        )


def recorded(node: Any) -> Any:
    """What tracing recorded as a node's value: fake tensors and symbolic scalars."""
    for key in ("example_value", "val", "tensor_meta"):
        if key in node.meta:
            return None if key == "tensor_meta" and not hasattr(node.meta[key], "stride_") else node.meta[key]
    return None


def _constant_node(node: Any, value: Any) -> Dict[str, Any]:
    """A tensor that a nested graph holds: written out where it is small."""
    elements = values.data(value, values.INLINE_CONSTANT)
    meta = values.tensor_meta(value)
    if elements is None:
        reason = "a nested graph holds the tensor %s of %d elements" % (node.target, value.numel())
        return graph_node(node.name, "call_function", "torch.tensor", [], {}, [meta], opaque=reason)
    kwargs = {"dtype": {"dtype": meta["dtype"]}}
    if meta["device"] != "cpu":
        kwargs["device"] = {"device": meta["device"]}
    return graph_node(node.name, "call_function", "torch.tensor", [_tagged(elements)], kwargs, [meta])


def _tagged(elements: Any) -> Any:
    if isinstance(elements, list):
        return [_tagged(item) for item in elements]
    return {"float": elements} if isinstance(elements, str) else elements


def _opaque_in(value: Any) -> List[str]:
    if isinstance(value, dict):
        if set(value) == {"opaque"}:
            return [value["opaque"]]
        value = list(value.values())
    if isinstance(value, list):
        return [reason for item in value for reason in _opaque_in(item)]
    return []


def _module_type(gm: Any, target: str) -> str:
    try:
        return type(gm.get_submodule(target)).__name__
    except Exception:
        return "unknown"
