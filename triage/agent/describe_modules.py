"""Graphs of older torch call whole modules (`call_module`): their bodies are traced into the graph.

Up to torch 2.4, Dynamo leaves nn.Linear and its like as calls of a module. Tracing the module with torch.fx, without any
leaf, gives the functional calls it consists of and the parameters it holds. A module that resists stays a call, which is
then opaque.
"""

from __future__ import annotations

import copy
from typing import Any


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


def _inline(gm: Any, graph: Any, node: Any) -> None:
    import torch

    class Through(torch.fx.Tracer):
        def is_leaf_module(self, module: Any, name: str) -> bool:
            return False

    try:
        module = gm.get_submodule(node.target)
        body = Through().trace(module)
        mapping = _bind(module, body, node)
    except Exception:  # control flow on values, arguments that do not fit, hooks: it stays a call
        return
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


def _bind(module: Any, body: Any, node: Any) -> dict:
    """The caller's values for the body's placeholders; a default that was left out is taken from the signature."""
    import inspect

    bound = inspect.signature(module.forward).bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    given = list(bound.arguments.values())
    names = list(bound.arguments)
    mapping = {}
    for inner in body.nodes:
        if inner.op == "placeholder":
            mapping[inner] = given[names.index(str(inner.target).lstrip("*"))]
    return mapping
