"""What is done with tensors, numbers and lists that no such value can do: rules of `validity`, seen without a run.

An expression is replaced by `1`, `[]` or `torch.ones(1)` in the hope that nothing asks more of it; where the text itself shows
that something does, no run is needed. Silent of names that are bound more than once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.model.text import words
from triage.reduce.text.code.compile_calls import is_torch_compile
from triage.reduce.text.code.names import KNOWN
from triage.reduce.text.code.own_names import times_bound
from triage.reduce.text.code.script import Script

_MADE_TENSORS = frozenset(
    f"torch.{name}"
    for name in words(
        "ones zeros empty full rand randn randint arange tensor ones_like zeros_like empty_like randn_like"
    )
)
_KINDS: tuple[tuple[type[ast.expr] | tuple[type[ast.expr], ...], type], ...] = (
    ((ast.List, ast.ListComp), list),
    (ast.Tuple, tuple),
    ((ast.Dict, ast.DictComp), dict),
    ((ast.Set, ast.SetComp), set),
    (ast.JoinedStr, str),
)


def called_values(script: Script) -> Iterator[str]:
    """Calls of what is a tensor, a number or a list: `torch.ones(1)()`, and of names that stand for nothing else."""
    times, values = times_bound(script), set(_values(script))
    for node in script.nodes:
        if isinstance(node, ast.arg) and node.annotation and ast.unparse(node.annotation) in ("torch.Tensor", "Tensor"):
            values.add(node.arg)
    for call in script.calls:
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        # Until a builtin is bound it is what Python has.
        if _is_value(call.func) or (name in values and name not in KNOWN and times[name] == 1):
            yield f"{ast.unparse(call.func)} is no function"


def missing_attributes(script: Script) -> Iterator[str]:
    """Attributes that are read of a number, text or list that is written out, and that its type does not have."""
    times, values = times_bound(script), _values(script)
    for node in script.nodes:
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        value: ast.expr | None = node.value
        if isinstance(value, ast.Name):
            value = values.get(value.id) if times[value.id] == 1 and value.id not in KNOWN else None
        kind = _type(value)
        if kind is not None and not hasattr(kind, node.attr):
            yield f"{kind.__name__} has no {node.attr}"


def compiled_values(script: Script) -> Iterator[str]:
    """`torch.compile(...)` of a tensor, a number or a list."""
    times, values = times_bound(script), _values(script)
    for call in script.calls:
        for given in call.args[:1] if is_torch_compile(call.func) else ():
            named = isinstance(given, ast.Name) and given.id in values and times[given.id] == 1
            if named or _is_value(given):
                yield "torch.compile is given a value"


def _values(script: Script) -> dict[str, ast.expr]:
    """What names are bound to that surely cannot be called; the last, where a name is bound again."""
    return {
        node.targets[0].id: node.value
        for node in script.nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_value(node.value)
    }


def _is_value(value: ast.expr) -> bool:
    """Whether it is surely nothing that can be called. None may stand for what is set later."""
    if isinstance(value, ast.Constant):
        return value.value is not None
    made = isinstance(value, ast.Call) and ast.unparse(value.func) in _MADE_TENSORS
    return made or isinstance(value, ast.List | ast.Tuple | ast.Dict | ast.Set)


def _type(value: ast.expr | None) -> type | None:
    """The type of what is written out; None where that is not known."""
    if isinstance(value, ast.Constant):
        return type(value.value)
    return next((kind for nodes, kind in _KINDS if isinstance(value, nodes)), None)
