"""A generator's own loop in place of the loop over what it gives: `for x in batches(): f(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.nodes import all_arguments
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

_STEP = "    "


def propose(script: Script) -> Iterator[Choice]:
    """Generators that end in a loop, the last statement of which is their only `yield`, where one loop is over what they give."""
    seen = Occurrences(script)
    for node, _ in script.statements():
        inner = _loop_of(node) if isinstance(node, ast.FunctionDef) else None
        if inner is None:
            continue
        assert isinstance(node, ast.FunctionDef)
        loop = _loop_over(script, seen, node)
        if loop is not None:
            text = _text(script, node, inner, loop)
            yield one(Edit(*script.lines_span(node)), Edit(*script.lines_span(loop), text))


def _loop_of(node: ast.FunctionDef) -> ast.For | None:
    """The loop in which a generator gives what it gives."""
    inner = node.body[-1]
    if node.decorator_list or not isinstance(inner, ast.For):
        return None
    ends = [part for part in ast.walk(node) if isinstance(part, ast.Yield | ast.YieldFrom | ast.Return)]
    last = inner.body[-1]
    alone = isinstance(last, ast.Expr) and isinstance(last.value, ast.Yield) and ends == [last.value]
    return inner if alone and not inner.orelse else None


def _loop_over(script: Script, seen: Occurrences, node: ast.FunctionDef) -> ast.For | None:
    """The only place where the generator is named, if it is the head of a loop that gives a value for each parameter."""
    uses = seen.reads(node.name, seen.scope_at(script.parents[node]))
    call = script.parents.get(uses[0].node) if len(uses) == 1 else None
    loop = script.parents.get(call) if call is not None else None
    if not isinstance(call, ast.Call) or not isinstance(loop, ast.For) or loop.iter is not call or loop.orelse:
        return None
    plain = len(all_arguments(node.args)) == len(node.args.args) == len(call.args) and not call.keywords
    return loop if plain and not any(isinstance(item, ast.Starred) for item in call.args) else None


def _text(script: Script, node: ast.FunctionDef, inner: ast.For, loop: ast.For) -> str:
    """The generator's statements, with the body of the loop over it in the place of its `yield`."""
    indent = script.indent(loop)
    call, last = loop.iter, inner.body[-1]
    assert isinstance(call, ast.Call) and isinstance(last, ast.Expr) and isinstance(last.value, ast.Yield)
    given = dict(zip((item.arg for item in node.args.args), map(script.source, call.args), strict=True))
    values = script.source(inner.iter)
    if [part.id for part in ast.walk(node) if isinstance(part, ast.Name)].count(values) == 1:
        values = given.pop(values, values)
    bound = [(name, value) for name, value in given.items() if name != value]
    value = script.source(last.value.value) if last.value.value is not None else "None"
    target = script.source(loop.target)
    return "".join(
        (
            *(f"{indent}{name} = {value}\n" for name, value in bound),
            *(script.body_text([item], indent) for item in node.body[:-1]),
            f"{indent}for {script.source(inner.target)} in {values}:\n",
            *(script.body_text([item], indent + _STEP) for item in inner.body[:-1]),
            f"{indent}{_STEP}{target} = {value}\n" if target != value else "",
            script.body_text(loop.body, indent + _STEP),
        )
    )
