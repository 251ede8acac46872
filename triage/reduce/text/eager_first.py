"""Eager first, then compiled: the line that shows the reader (and the contract) that the same call passes uncompiled.

Added once, at the end, to the call that was found; it is judged like any candidate, because it may change what the compiled
call meets. A script that already calls the plain function needs none. Where what is compiled is made on the spot
(`torch.compile(Model())`) and called later, eager has an object of its own, made once as well and called as often: a new one
per call would show nothing of a failure that lies in what an earlier call left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.names import Occurrences, bound_globals
from triage.reduce.text.script import Edit, Script
from triage.reduce.text.shape import is_torch_compile

REMARK = "  # eager works"
WIDEST = 100
MOST_CALLS = 3  # of a compiled object, each with an eager call before it
_NAMES = ("eager", "uncompiled", "eager_f", "eager_again")
_GIVEN_INPUTS = ("torch.export.export", "torch.jit.trace", "torch.onnx.export")  # (what to run, its inputs, ...)


def eager_first(script: Script) -> Iterator[Script]:
    """The script with an eager call before its first compiled one; nothing where there is none to tell."""
    uses = [node for node in script.nodes if isinstance(node, ast.Call) and is_torch_compile(node.func)]
    if not uses:
        yield from _before_the_door(script)
    if len(uses) == 1 and uses[0].args:
        yield from _before_the_call(script, uses[0])
    decorated = [
        node
        for node in script.tree.body
        if isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1 and _compiles(node.decorator_list[0])
    ]
    if len(decorated) == 1 and len(uses) <= 1:
        yield from _instead_of_decorator(script, decorated[0])


def _before_the_call(script: Script, use: ast.Call) -> Iterator[Script]:
    """`c = torch.compile(f)` and `c(x)`, or `torch.compile(f)(x)`: `f(x)` before it."""
    plain = script.source(use.args[0])
    above = script.parents[use]
    seen = Occurrences(script)
    if isinstance(use.args[0], ast.Name) and len([p for p in seen.of(plain) if not p.binds]) > 1:
        return  # it is used uncompiled already
    if isinstance(above, ast.Call) and above.func is use:
        calls = [above]
    elif isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        places = [place.node for place in seen.of(above.targets[0].id) if not place.binds]
        around = [(script.parents[node], node) for node in places]
        calls = [call for call, node in around if isinstance(call, ast.Call) and call.func is node]
        if _makes_something(use.args[0]):
            yield from _with_its_own(script, above, plain, calls)
            return
    else:
        return
    for call in calls[:1]:
        yield from _line_before(script, call, _called(script, call, plain if _is_atom(use.args[0]) else f"({plain})"))


def _with_its_own(script: Script, made: ast.Assign, plain: str, calls: list[ast.Call]) -> Iterator[Script]:
    """`c = torch.compile(M())` and `c(x)` in a loop: `eager = M()` before the first, `eager(x)` before each of the others."""
    name = next((name for name in _NAMES if name not in bound_globals(script)), None)
    if name is None or not 0 < len(calls) <= MOST_CALLS:
        return
    edits = [_edit_before(script, made, f"{name} = {plain}", "")]
    edits += [_edit_before(script, call, _called(script, call, name)) for call in calls]
    if None not in edits:
        yield Script(script.replaced(list(filter(None, edits))))


def _before_the_door(script: Script) -> Iterator[Script]:
    """`export(f, (x, y))`: `f(x, y)` before it."""
    for call in script.nodes:
        if not isinstance(call, ast.Call) or ast.unparse(call.func) not in _GIVEN_INPUTS or len(call.args) < 2:
            continue
        function, inputs = call.args[:2]
        given = inputs.elts if isinstance(inputs, ast.Tuple) else [ast.Starred(inputs)]
        plain = script.source(function) if _is_atom(function) else f"({script.source(function)})"
        line = ", ".join(ast.unparse(item) for item in given)
        yield from _line_before(script, call, f"{plain}({line})")
        return


def _instead_of_decorator(script: Script, node: ast.FunctionDef) -> Iterator[Script]:
    """`@torch.compile` above f, and the only `f(x)`: the function stays plain, and is compiled where it is called."""
    seen = Occurrences(script)
    uses = [place.node for place in seen.of(node.name) if not place.binds]
    call = script.parents.get(uses[0]) if len(uses) == 1 else None
    statement = script.parents.get(call) if call is not None else None
    if not isinstance(call, ast.Call) or call.func is not uses[0] or not isinstance(statement, ast.Expr):
        return
    decorator = node.decorator_list[0]
    given = script.source(decorator).partition("(")[2].rpartition(")")[0] if isinstance(decorator, ast.Call) else ""
    compiled = f"torch.compile({node.name}{', ' if given else ''}{given})"
    start = script.offset(decorator.lineno, 0)
    edits = [
        Edit(start, script.offset((decorator.end_lineno or 0) + 1, 0)),
        Edit(*script.span(uses[0]), compiled),
    ]
    line = f"{script.indent(statement)}{script.source(call)}{REMARK}\n"
    place = script.offset(statement.lineno, 0)
    yield Script(script.replaced([*edits, Edit(place, place, line)]))


def _called(script: Script, call: ast.Call, name: str) -> str:
    """The call with another callee."""
    return name + script.text[script.span(call.func)[1] : script.span(call)[1]]


def _line_before(script: Script, call: ast.Call, eager: str) -> Iterator[Script]:
    edit = _edit_before(script, call, eager)
    if edit is not None:
        yield Script(script.replaced([edit]))


def _edit_before(script: Script, node: ast.AST, line: str, remark: str = REMARK) -> Edit | None:
    """A line of its own above the statement of a node; None where it would be too long, or run at another time."""
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt):
        if isinstance(statement, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            return None
        statement = script.parents[statement]
    text = f"{script.indent(statement)}{line}{remark}\n"
    if "\n" in line or len(text) > WIDEST:
        return None
    place = script.offset(script.first_line(statement), 0)
    return Edit(place, place, text)


def _makes_something(node: ast.AST) -> bool:
    """Whether it is something new each time that it is evaluated: it calls, other than in the body of a lambda."""
    return not isinstance(node, ast.Lambda) and any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _is_atom(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _compiles(node: ast.AST) -> bool:
    return is_torch_compile(node) or (isinstance(node, ast.Call) and is_torch_compile(node.func))
