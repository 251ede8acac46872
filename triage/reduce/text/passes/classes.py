"""A function in place of a class that is one method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.nodes import calls
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    """A function in place of a class that is one method, and `torch.compile(m)` for `m.compile()`, which needs a module."""
    for node in script.tree.body:
        if not isinstance(node, ast.ClassDef) or node.decorator_list or len(node.body) != 1:
            continue
        method = node.body[0]
        if not isinstance(method, ast.FunctionDef) or method.decorator_list or not method.args.args:
            continue
        seen = Occurrences(script)
        inner = seen.scope_at(method)
        first = method.args.args[0].arg
        if len(seen.of(first, inner)) != 1:
            continue
        name = "f" if method.name in ("forward", "__call__") else method.name
        if name in seen.everywhere():
            name = method.name if method.name != "forward" else "forward"
        edits = [_as_function(script, node, method, name)]
        for call in script.calls:
            if _makes(call, node.name):
                above = script.parents[call]
                bound = isinstance(above, ast.Attribute) and above.attr == method.name
                edits.append(Edit(*script.span(above if bound else call), name))
        edits += [_compiled_in_place(script, call) for call in script.calls if _compiles_itself(script, call)]
        yield one(*edits)


def _makes(call: ast.Call, name: str) -> bool:
    return calls(call, name) and not call.args and not call.keywords


def _compiles_itself(script: Script, call: ast.Call) -> bool:
    """`m.compile(...)` as a statement."""
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "compile"
        and isinstance(function.value, ast.Name)
        and function.value.id != "torch"
        and isinstance(script.parents[call], ast.Expr)
    )


def _compiled_in_place(script: Script, call: ast.Call) -> Edit:
    module = script.source(call.func).partition(".")[0]
    rest = script.text[script.span(call.func)[1] + 1 : script.span(call)[1] - 1]
    text = f"{module} = torch.compile({module}{', ' if rest.strip() else ''}{rest})"
    return Edit(*script.span(call), text)


def _as_function(script: Script, node: ast.ClassDef, method: ast.FunctionDef, name: str) -> Edit:
    text = script.body_text([method], "")
    first = re.escape(method.args.args[0].arg)
    head = re.sub(
        rf"def {re.escape(method.name)}\(\s*{first}(?:\s*:[^,)]*)?\s*(?:,\s*)?", f"def {name}(", text, count=1
    )
    outer = script.lines_span(node)
    return Edit(outer[0], outer[1], head)
