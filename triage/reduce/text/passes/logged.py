"""`print` in place of a logger: what is logged is seen all the same, and the logger, its set-up and its handlers may go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

_LEVELS = ("debug", "info", "warning", "error", "critical")


def propose(script: Script) -> Iterator[Choice]:
    for node in script.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _LEVELS and call.args:
            yield one(Edit(*script.span(call), f"print({_told(script, call.args)})"))


def _told(script: Script, args: list[ast.expr]) -> str:
    """What a logger is given: a value by itself, or a format and what stands in it."""
    form, *values = [script.source(arg) for arg in args]
    if not values:
        return form
    return f"{form} % ({', '.join(values)}{',' if len(values) == 1 else ''})"
