"""Plain functions in place of coroutines, of classes that are only a place for names, and of autograd functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import without_decorator
from triage.reduce.text.code.names import KNOWN, Occurrences
from triage.reduce.text.code.script import Edit, Script, reindent
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    yield from _namespaces(script)
    yield from _applied(script)
    yield from _coroutines(script)


def _namespaces(script: Script) -> Iterator[Choice]:
    """A class that only holds functions and values, `A.f(x)` and `A.n`: what it holds, with no class around it."""
    seen = Occurrences(script)
    for node in script.tree.body:
        if not isinstance(node, ast.ClassDef) or node.decorator_list or node.bases or node.keywords:
            continue
        held = [_held(script, item) for item in node.body]
        names = {name for name in held if name is not None}
        elsewhere = {item.name for scope in seen.scopes if scope.node is not node for item in scope.found} | KNOWN
        uses = [script.parents[place.node] for place in seen.reads(node.name)]
        plain = all(
            isinstance(use, ast.Attribute) and isinstance(use.ctx, ast.Load) and use.attr in names for use in uses
        )
        if None in held or not uses or not plain or names & elsewhere:
            continue
        start, end = script.lines_span(node)
        edits = [Edit(*script.span(use), use.attr) for use in uses if isinstance(use, ast.Attribute)]
        marks = [mark for item in node.body for mark in getattr(item, "decorator_list", ())]
        edits += [without_decorator(script, mark) for mark in marks]
        inner = [edit for edit in edits if start <= edit.start < end]
        body = script.part(start, end, [Edit(start, script.lines_span(node.body[0])[0]), *inner])
        whole = Edit(start, end, reindent(body, script.indent(node.body[0]), ""))
        yield one(whole, *(edit for edit in edits if edit not in inner))


def _held(script: Script, item: ast.stmt) -> str | None:
    """The name of a static method or a value; None for what needs the class."""
    if isinstance(item, ast.FunctionDef) and [script.source(mark) for mark in item.decorator_list] == ["staticmethod"]:
        return item.name
    if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
        return item.targets[0].id
    return None


def _applied(script: Script) -> Iterator[Choice]:
    """The forward of a `torch.autograd.Function` as a function, `F(x)` for `F.apply(x)`: its gradient may not matter."""
    seen = Occurrences(script)
    for node in script.tree.body:
        if not isinstance(node, ast.ClassDef) or [script.source(base).split(".")[-1] for base in node.bases] != [
            "Function"
        ]:
            continue
        forward = next(
            (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "forward"), None
        )
        uses = [script.parents[place.node] for place in seen.reads(node.name)]
        if forward is None or not forward.args.args or not uses:
            continue
        context = forward.args.args[0]
        scope = seen.scope_at(forward)
        told = seen.reads(context.arg, scope)
        if told or not all(isinstance(use, ast.Attribute) and use.attr == "apply" for use in uses):
            continue
        start, end = script.span(forward)[0], script.lines_span(forward)[1]
        name = script.text.index("forward", start)
        following = forward.args.args[1:]
        after = script.span(following[0])[0] if following else script.span(context)[1]
        edits = [Edit(name, name + len("forward"), node.name), Edit(script.span(context)[0], after)]
        text = script.part(start, end, edits)
        whole = Edit(*script.lines_span(node), reindent(script.indent(forward) + text, script.indent(forward), ""))
        yield one(whole, *(Edit(*script.span(use), node.name) for use in uses))


def _coroutines(script: Script) -> Iterator[Choice]:
    """`def f` and `f()` in place of `async def f`, and `await f()` and `asyncio.run(f())`: of all coroutines, then of each."""
    made = [node for node in script.nodes if isinstance(node, ast.AsyncFunctionDef)]
    for chosen in ([made] if len(made) > 1 else []) + [[node] for node in made]:
        names = {node.name for node in chosen}
        edits = [Edit(start, start + len("async def"), "def") for start in (script.span(node)[0] for node in chosen)]
        for node in script.nodes:
            called = _awaited(node)
            if called is not None and ast.unparse(called.func).split(".")[-1] in names:
                (start, end), (first, last) = script.span(node), script.span(called)
                edits += [Edit(start, first), Edit(last, end)]
        yield one(*(edit for edit in edits if edit.start < edit.end))


def _awaited(node: ast.AST) -> ast.Call | None:
    """`f()` of `await f()` and of `asyncio.run(f())`."""
    value: ast.AST | None = None
    if isinstance(node, ast.Await):
        value = node.value
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        name = ast.unparse(node.func)
        value = node.args[0] if name == "asyncio.run" or name.endswith("run_until_complete") else None
    return value if isinstance(value, ast.Call) else None
