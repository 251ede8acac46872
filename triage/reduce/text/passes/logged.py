"""`print` in place of a logger or of what a progress bar shows: the values are seen, and what they went through may go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

_LEVELS = ("debug", "info", "warning", "error", "critical")
_VALUES_OF_BAR, _TEXTS_OF_BAR = "set_postfix", ("set_postfix_str", "set_description")


def propose(script: Script) -> Iterator[Choice]:
    for node in script.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        told = _told(script, call) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        if call is not None and told:
            yield one(Edit(*script.span(call), f"print({told})"))


def _told(script: Script, call: ast.Call) -> str:
    """What a logger is given, a value by itself, or a format and what stands in it; the values of a bar."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == _VALUES_OF_BAR:
        shown = [value for arg in call.args if isinstance(arg, ast.Dict) for value in arg.values]
        shown += [item.value for item in call.keywords if item.arg not in (None, "refresh")]
        return ", ".join(map(script.source, shown))
    if call.func.attr not in (*_LEVELS, *_TEXTS_OF_BAR) or not call.args:
        return ""
    form, *values = [script.source(arg) for arg in call.args if call.func.attr in _LEVELS or arg is call.args[0]]
    return f"{form} % ({', '.join(values)}{',' if len(values) == 1 else ''})" if values else form
