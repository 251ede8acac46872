"""One call of a compiled graph, judged in this process: for tests of how."""

import importlib
from typing import Any

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
compat = importlib.import_module(f"{boot.PACKAGE}.compat")
call, copies, dice, graphs, incoming, kept, memory, repeats, roundoff, run = (
    importlib.import_module(f"{boot.PACKAGE}.compare.{name}")
    for name in ("call", "copies", "dice", "graphs", "incoming", "kept", "memory", "repeats", "roundoff", "run")
)

LOW = {"device_type": "cpu", "dtype": torch.bfloat16}


def judged(compiled: Any, graph: Any, *args: Any, gradients: bool = True) -> Any:
    """The call, and what is found wrong with it, where `compiled` stands for the graph."""
    gm = graph if isinstance(graph, torch.fx.GraphModule) else torch.fx.symbolic_trace(graph)
    made = call.Call(torch, compiled, kept.Kept(torch, gm), args, gradients)
    with made.as_it_began():
        return made, made.wrong(compiled(*args), args)


def leaf(*shape: int) -> Any:
    return torch.randn(*shape).requires_grad_()


def checked(compiled: Any, graph: Any, *args: Any) -> Any:
    """What is found wrong where a check of the program's own fails."""
    made = call.Call(torch, compiled, kept.Kept(torch, torch.fx.symbolic_trace(graph)), args, False, checked=True)
    with made.as_it_began():
        return made.wrong(compiled(*args), args)
