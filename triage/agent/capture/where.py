"""Where an operation of a graph stands in the program: the line, and the module that does it."""

from __future__ import annotations

import os
import re
from typing import Any

from .. import whose
from .exception import FRAME, function_of

_PASS_ON = ("__torch_function__", "__torch_dispatch__")
# What Dynamo calls a module, that of a local or a global variable: `L['self'].layers.0.ff` (2.13),
# `L['self']._modules['layers']._modules['0'].ff` (2.6), `getattr(L['self'].layers[0], 'ff')` (2.2, 2.4).
_GIVEN = re.compile(r"getattr\((.+), ('[^'\[\]]+')\)")
_ITEM = re.compile(r"(?:\._modules)?\[(?:'([^'\[\]]+)'|(\d+))\]")
# What torch.compile was given: `fn` in torch/_dynamo/external_utils.py, where that is a module of torch's.
_COMPILED = ("self", "fn")
_PATH = re.compile(r"\w[\w ]*(?:\.\w[\w ]*)*")


def where(node: Any) -> str:
    """`train.py:31 in forward: y = self.lin(x)`: the innermost line that is not torch's; empty where unknown.

    Not that of a hook through which a subclass or a mode passes each of its operations on, unless there is no other.
    """
    found = passed_on = ""
    lines = str(node.meta.get("stack_trace") or "").splitlines()
    for index, line in enumerate(lines):
        frame = FRAME.match(line)
        if frame is None or whose.in_packages(frame["file"]).startswith("torch/"):
            continue
        code = lines[index + 1].strip() if index + 1 < len(lines) and not FRAME.match(lines[index + 1]) else ""
        file = whose.in_packages(frame["file"]) or os.path.basename(frame["file"])  # as in triage/model/outcome.py
        told = "%s:%s in %s: %s" % (file, frame["line"], function_of(frame["function"]), code)
        if frame["function"] in _PASS_ON:
            passed_on = told
        else:
            found = told
    return (found or passed_on).rstrip(": ")


def module(node: Any) -> str:
    """`layers.1.ff.1 (ReLU)`: the innermost module in whose call it is done, from the one that is compiled; empty where unknown.

    Of a backward pass, that whose gradient it computes. Source: `nn_module_stack` in torch/_dynamo/output_graph.py.
    """
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    try:
        path, kind = list(stack.values())[-1]
    except (AttributeError, IndexError, TypeError, ValueError):
        return ""
    path = _plain(path) if isinstance(path, str) else ""
    name = getattr(kind, "__name__", None) or str(kind).rpartition(".")[2]
    return "%s (%s)" % (path, name) if path and name.isidentifier() else ""


def _plain(source: str) -> str:
    """`layers.0.ff` of `L['self'].layers[0]._modules['ff']`, `net.ff` of `G['net'].ff`; empty of what is no such path."""
    while (item := _GIVEN.search(source)) is not None:
        source = source[: item.start()] + "%s[%s]" % item.groups() + source[item.end() :]
    root, *names = _ITEM.sub(lambda item: "." + (item.group(1) or item.group(2)), source).split(".")
    if "cell_contents" in names:  # what a function of the program's holds: the name of its variable is not known
        names = names[len(names) - names[::-1].index("cell_contents") :]
    if names[:2] == ["args", "0"]:  # of a method under a decorator, `def wrapper(*args, **kwargs)`: its object
        names = names[2:]
    elif names and names[0] in _COMPILED:
        names = names[1:]
    path = ".".join(names)
    return path if root in ("L", "G") and _PATH.fullmatch(path) else ""
