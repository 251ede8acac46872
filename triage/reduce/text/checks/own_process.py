"""Which texts must not be run in a fork of a warm interpreter, but in a process of their own."""

from __future__ import annotations

import ast

from triage.model.syntax import parse
from triage.reduce.text.code.nodes import bound_name

# Modules whose users start processes, handle signals, or talk to other ranks: not in a fork of a warm interpreter.
_OWN_PROCESS = ("multiprocessing", "concurrent.futures.process", "signal", "torch.distributed", "torch.multiprocessing")
_OWN_PROCESS_CALLS = ("fork", "forkpty", "set_wakeup_fd", "ProcessPoolExecutor")


def needs_own_process(text: str) -> bool:
    """Whether a script must not share a process with others: it forks, handles signals, or is one rank of many.

    A variable may well be called `signal`.
    """
    nodes = list(ast.walk(parse(text)))
    imports = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    modules = {bound_name(alias) for node in imports for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            names = [name] if name.split(".")[0] in modules else []
        elif isinstance(node, ast.keyword) and node.arg == "num_workers":
            if not (isinstance(node.value, ast.Constant) and not node.value.value):
                return True
            continue
        else:
            continue
        if any(name == known or name.startswith(known + ".") for name in names for known in _OWN_PROCESS):
            return True
        if any(name.rsplit(".", 1)[-1] in _OWN_PROCESS_CALLS for name in names):
            return True
    return False
