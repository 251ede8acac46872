"""A function in place of one that only calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences, atom
from triage.reduce.text.code.nodes import all_arguments, names_within
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    """`vmap(f)` in place of `vmap(g)` with `def g(x): return f(x)`, and of `vmap(lambda x: f(x))`."""
    seen = Occurrences(script)
    for node in script.nodes:
        if isinstance(node, ast.Lambda):
            called = _called_with_the_same(node.args, node.body)
            if called is not None:
                yield one(Edit(*script.span(node), script.source(called)))
        elif isinstance(node, ast.FunctionDef) and len(node.body) == 1 and isinstance(node.body[0], ast.Return):
            scope, called = script.parents[node], _called_with_the_same(node.args, node.body[0].value)
            if called is None or node.decorator_list or not isinstance(scope, ast.Module | ast.FunctionDef):
                continue
            uses = seen.reads(node.name, seen.scope_at(scope))
            if uses and node.name not in names_within(called) and all(use.placed for use in uses):
                text = atom(script.source(called))
                yield one(Edit(*script.lines_span(node)), *(Edit(*script.span(use.node), text) for use in uses))


def _called_with_the_same(given: ast.arguments, value: ast.expr | None) -> ast.expr | None:
    """`f` of `lambda x, y: f(x, y)`; None where it does more, or where what is called depends on x."""
    names = [item.arg for item in given.args]
    if not isinstance(value, ast.Call) or value.keywords or len(all_arguments(given)) > len(names) or not names:
        return None
    passed = [item.id if isinstance(item, ast.Name) else "" for item in value.args]
    simple = isinstance(value.func, ast.Name | ast.Attribute) and not names_within(value.func) & set(names)
    return value.func if simple and passed == names else None
