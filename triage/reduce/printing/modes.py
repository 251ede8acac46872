"""Graph nodes that switch a mode (gradients, autocast, inference) as the `with` headers they stand for.

Each node is given the stack of modes it runs under. A switch that is never undone holds to the end; an undoing without
its switch is ignored. So any sub-sequence of a graph still has a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.model import effects, trees
from triage.model.graphcase import GraphNode

_ENTER = ("_enter_autocast", "_enter_inference_mode")
_EXIT = ("_exit_autocast", "_exit_inference_mode")


def switches_mode(node: GraphNode) -> bool:
    """Whether a `with` block says what the node does, so that it is no statement of its own."""
    return effects.sets_grad_mode(node) is not None or effects.operation(node) in (*_ENTER, *_EXIT)


def modes_of(nodes: Sequence[GraphNode], grad_enabled: bool) -> list[tuple[str, ...]]:
    """For each node the `with` headers round it, outermost first. `grad_enabled` is the state at the start."""
    stack: list[tuple[str, str]] = []  # (name of the switching node, header)
    result = []
    for node in nodes:
        mode = effects.sets_grad_mode(node)
        if mode is not None:
            stack = [item for item in stack if item[0] != "grad"]
            if mode != grad_enabled:
                stack.append(("grad", "torch.enable_grad()" if mode else "torch.no_grad()"))
        elif effects.operation(node) in _ENTER:
            stack.append((node.name, _header(node)))
        elif effects.operation(node) in _EXIT:
            reference = trees.as_ref(node.args[0]) if node.args else None
            stack = [item for item in stack if item[0] != reference]
        result.append(tuple(header for _, header in stack))
    return result


def _header(node: GraphNode) -> str:
    if effects.operation(node) == "_enter_inference_mode":
        return "torch.inference_mode()" if not node.args or node.args[0] is True else "torch.inference_mode(False)"
    arguments = [*node.args, *node.kwargs.values()]
    device = arguments[0] if arguments else "cpu"
    dtype = arguments[1] if len(arguments) > 1 else None
    enabled = arguments[2] if len(arguments) > 2 else True
    cache = arguments[3] if len(arguments) > 3 else None
    return autocast(str(device), dtype.get("dtype") if isinstance(dtype, dict) else None, enabled is not False, cache)


def autocast(device: str, dtype: str | None, enabled: bool = True, cache: object = None) -> str:
    """`torch.autocast("cpu", dtype=torch.bfloat16)`."""
    options = [f'"{device}"']
    if dtype is not None and enabled:
        options.append(f"dtype=torch.{dtype}")
    if not enabled:
        options.append("enabled=False")
    if cache is False:
        options.append("cache_enabled=False")
    return f"torch.autocast({', '.join(options)})"
