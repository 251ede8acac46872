"""Graphs of older torch call whole modules (`call_module`): their bodies are traced into the graph.

Up to torch 2.4, Dynamo leaves nn.Linear and its like as calls of a module. Tracing the module with torch.fx, without any
leaf, gives the functional calls it consists of and the parameters it holds. Decisions that a module takes on its input
(`if input.dim() != 4`) are taken on the recorded fake tensors. A module that resists stays a call, which is then opaque.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any, Dict


def inlined(gm: Any) -> Any:
    """`gm` itself where it calls no modules, else a copy of it with their bodies in place."""
    if not any(node.op == "call_module" for node in gm.graph.nodes):
        return gm
    import torch

    graph = copy.deepcopy(gm.graph)
    _keep_meta(gm.graph, graph)
    for node in list(graph.nodes):
        if node.op == "call_module":
            _inline(gm, graph, node)
    return torch.fx.GraphModule(gm, graph)


def _keep_meta(old: Any, new: Any) -> None:
    """Metas by reference: a deep copy of fake tensors is neither cheap nor always possible."""
    for before, after in zip(old.nodes, new.nodes):  # noqa: B905 - not in Python 3.9
        after.meta = dict(before.meta)
        if hasattr(before, "_dynamo_source"):
            after._dynamo_source = before._dynamo_source


def _inline(gm: Any, graph: Any, node: Any) -> None:
    import torch

    try:
        module = gm.get_submodule(node.target)
        given = _given(module, node)
        body = _tracer({name: _recorded(value) for name, value in given.items()}).trace(module)
        mapping = {inner: given[str(inner.target).lstrip("*")] for inner in body.nodes if inner.op == "placeholder"}
    except Exception:  # control flow on values, arguments that do not fit, hooks: it stays a call
        return
    result = None
    with graph.inserting_before(node):
        for inner in body.nodes:
            if inner.op == "placeholder":
                continue
            if inner.op == "output":
                result = torch.fx.node.map_arg(inner.args[0], lambda item: mapping[item])
                break
            made = graph.node_copy(inner, lambda item: mapping[item])
            if made.op == "get_attr":
                made.target = "%s.%s" % (node.target, inner.target)
            for key in ("stack_trace", "nn_module_stack"):
                if key in node.meta:
                    made.meta[key] = node.meta[key]
            mapping[inner] = made
    if not isinstance(result, torch.fx.Node):
        return
    result.meta.update({key: node.meta[key] for key in ("example_value", "val") if key in node.meta})
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _given(module: Any, node: Any) -> Dict[str, Any]:
    """The caller's values by parameter name; one that was left out has its default."""
    bound = inspect.signature(module.forward).bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _recorded(value: Any) -> Any:
    """What tracing recorded of an argument."""
    meta = getattr(value, "meta", None)
    return meta.get("example_value", meta.get("val")) if isinstance(meta, dict) else value


def _tracer(examples: Dict[str, Any]) -> Any:
    import torch

    class Through(torch.fx.Tracer):
        """Traces into every module, and looks at the recorded tensors where the code asks."""

        proxy_buffer_attributes = True  # else `self.num_batches_tracked.add_(1)` would change the user's model

        def is_leaf_module(self, module: Any, name: str) -> bool:
            return False

        def to_bool(self, obj: Any) -> bool:
            return bool(self._value(obj.node))

        def iter(self, obj: Any) -> Any:
            return iter(self._value(obj.node))

        def _value(self, item: Any) -> Any:
            if isinstance(item, (tuple, list)):
                return type(item)(self._value(part) for part in item)
            if not isinstance(item, torch.fx.Node):
                return item
            if item.op == "placeholder":
                return examples[str(item.target).lstrip("*")]
            args = [self._value(part) for part in item.args]
            kwargs = {key: self._value(part) for key, part in item.kwargs.items()}
            if item.op == "call_method":
                return getattr(args[0], item.target)(*args[1:], **kwargs)
            if item.op == "call_function":
                return item.target(*args, **kwargs)
            raise TypeError("a decision on a parameter's value")

    return Through()
