"""A list that is written out in place of one that the next statements fill: `a = []`, `a.append(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.script import Edit, Script, blocks_of
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    for node in script.nodes:
        for block in blocks_of(node):
            for first, then in pairwise(block):
                item = _appended(first, then)
                if item is not None and isinstance(first, ast.Assign) and isinstance(first.value, ast.List):
                    items = [script.source(each) for each in (*first.value.elts, item)]
                    yield one(Edit(*script.span(first.value), f"[{', '.join(items)}]"), deletion(script, then))


def _appended(first: ast.stmt, then: ast.stmt) -> ast.expr | None:
    """What `then` appends to the list that `first` makes; None where it does something else, or reads the list."""
    call = then.value if isinstance(then, ast.Expr) else None
    if not isinstance(first, ast.Assign) or len(first.targets) != 1 or not isinstance(first.targets[0], ast.Name):
        return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    made, owner = first.targets[0].id, call.func.value
    if call.func.attr != "append" or not isinstance(owner, ast.Name) or owner.id != made or call.keywords:
        return None
    reads = any(isinstance(node, ast.Name) and node.id == made for node in ast.walk(call.args[0]))
    return None if reads or isinstance(call.args[0], ast.Starred) else call.args[0]
