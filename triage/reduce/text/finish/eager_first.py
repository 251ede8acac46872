"""Eager first, then compiled: the line that shows the reader (and the contract) that the same call passes uncompiled.

Added once, at the end, to the calls that were found; it is judged like any candidate, because it may change what the compiled
call meets. A script that already calls the plain function needs none, nor one that calls another made as it is: where each side
has an object of its own, because calls change it, a further call of the compiled one's would only change that.

It shows as much as it has in common with what is compiled: a failure may lie in what an earlier call left. So eager is called
as often, where that fails the same way. And where what is compiled is made on the spot (`torch.compile(Model())`) and called
later, eager has an object of its own that is made once as well: a new one per call would show nothing.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from triage.reduce.text.code.compile_calls import is_torch_compile
from triage.reduce.text.code.names import Occurrences, bound_globals
from triage.reduce.text.code.script import Edit, Script

REMARK = "  # eager works"
WIDEST = 100
MOST_CALLS = 3  # of a compiled object, each with an eager call before it
_NAMES = ("eager", "uncompiled", "eager_f", "eager_again")
_GIVEN_INPUTS = ("torch.export.export", "torch.jit.trace", "torch.onnx.export")  # (what to run, its inputs, ...)


def eager_first(script: Script) -> Iterator[Script]:
    """The script with an eager call before its first compiled one; nothing where there is none to tell."""
    uses = [call for call in script.calls if is_torch_compile(call.func)]
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
    argument, above = use.args[0], script.parents[use]
    plain = script.source(argument)
    seen = Occurrences(script)
    called = any(script.source(call.func) == plain for call in script.calls)  # `np.fix`
    if called or (isinstance(argument, ast.Name) and len(seen.reads(plain)) > 1):
        return  # it is used uncompiled already
    name = plain if _is_atom(argument) else f"({plain})"
    if isinstance(above, ast.Call) and above.func is use:
        yield from _called_as_often(script, [above], name)
    elif isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        places = [place.node for place in seen.reads(above.targets[0].id)]
        around = [(script.parents[node], node) for node in places]
        calls = [call for call, node in around if isinstance(call, ast.Call) and call.func is node]
        if _has_a_twin(script, argument, calls):
            return
        if _makes_something(argument):
            name = next((name for name in _NAMES if name not in bound_globals(script)), _NAMES[-1])
            made = _lines_before(script, above, [f"{name} = {plain}"])
            yield from _called_as_often(script, calls, name, made) if made is not None else ()
        else:
            yield from _called_as_often(script, calls, name)


def _has_a_twin(script: Script, argument: ast.expr, calls: list[ast.Call]) -> bool:
    """Whether one that is made as what is compiled is, and called as it is, stays plain: `eager = make()` by `f = make()`."""
    made: dict[str, list[str]] = {}  # the names that are given what a text makes
    for node in script.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _makes_something(node.value):
            made.setdefault(script.source(node.value), []).append(node.targets[0].id)
    plain = script.source(argument)
    twins = {name for text, names in made.items() if plain in (text, *names) for name in names} - {plain}
    given = {_given(script, call) for call in calls}
    return any(ast.unparse(call.func) in twins and _given(script, call) in given for call in script.calls)


def _given(script: Script, call: ast.Call) -> str:
    """What a call gives, with its brackets."""
    return script.text[script.span(call.func)[1] : script.span(call)[1]]


def _called_as_often(script: Script, calls: list[ast.Call], name: str, made: Edit | None = None) -> Iterator[Script]:
    """With an eager call for each of these; `made` is the line that makes what it calls."""
    told: list[str] = []
    for placed in _placements(script, calls, once=made is None):
        edits = [made] if made is not None else []
        for above, group in placed:
            lines = [name + _given(script, call) + REMARK for call in group]
            edit = _lines_before(script, above, lines)
            if edit is None:
                break
            edits.append(edit)
        else:
            text = script.replaced(edits)
            if text not in told:
                told.append(text)
                yield Script(text)


def _placements(
    script: Script, calls: list[ast.Call], *, once: bool
) -> Iterator[list[tuple[ast.Call, list[ast.Call]]]]:
    """Above which compiled call which are made eagerly: all above the first, each above its own, or (`once`) only the first."""
    if calls and len(calls) <= MOST_CALLS:
        if _in_a_row([script.parents[call] for call in calls]):
            yield [(calls[0], calls)]
        yield [(call, [call]) for call in calls]
    if calls and once:
        yield [(calls[0], calls[:1])]


def _in_a_row(statements: list[ast.AST]) -> bool:
    """Whether they are calls and no more, one below the other: nothing happens between them."""
    lines = [(each.lineno, each.end_lineno or 0, each.col_offset) for each in statements if isinstance(each, ast.Expr)]
    below = all(end + 1 == start and left == right for (_, end, left), (start, _, right) in itertools.pairwise(lines))
    return len(lines) == len(statements) and below


def _before_the_door(script: Script) -> Iterator[Script]:
    """`export(f, (x, y))`: `f(x, y)` before it."""
    for call in script.calls:
        if ast.unparse(call.func) not in _GIVEN_INPUTS or len(call.args) < 2:
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
    uses = [place.node for place in seen.reads(node.name)]
    call = script.parents.get(uses[0]) if len(uses) == 1 else None
    statement = script.parents.get(call) if call is not None else None
    if not isinstance(call, ast.Call) or call.func is not uses[0] or not isinstance(statement, ast.Expr):
        return
    decorator = node.decorator_list[0]
    given = script.source(decorator).partition("(")[2].rpartition(")")[0] if isinstance(decorator, ast.Call) else ""
    compiled = f"torch.compile({node.name}{', ' if given else ''}{given})"
    start = script.offset(decorator.lineno, 0)
    edits = [Edit(start, script.offset((decorator.end_lineno or 0) + 1, 0)), Edit(*script.span(uses[0]), compiled)]
    line = f"{script.indent(statement)}{script.source(call)}{REMARK}\n"
    place = script.offset(statement.lineno, 0)
    yield Script(script.replaced([*edits, Edit(place, place, line)]))


def _line_before(script: Script, call: ast.Call, eager: str) -> Iterator[Script]:
    edit = _lines_before(script, call, [eager + REMARK])
    if edit is not None:
        yield Script(script.replaced([edit]))


def _lines_before(script: Script, node: ast.AST, lines: list[str]) -> Edit | None:
    """Lines above the statement of a node; None where one would be too long, or run at another time."""
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt):
        if isinstance(statement, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            return None
        statement = script.parents[statement]
    whole = [f"{script.indent(statement)}{line}\n" for line in lines]
    if any(line.count("\n") > 1 or len(line) > WIDEST for line in whole):
        return None
    place = script.offset(script.first_line(statement), 0)
    return Edit(place, place, "".join(whole))


def _makes_something(node: ast.AST) -> bool:
    """Whether it is something new each time that it is evaluated: it calls, other than in the body of a lambda."""
    return not isinstance(node, ast.Lambda) and any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _is_atom(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _compiles(node: ast.AST) -> bool:
    return is_torch_compile(node) or (isinstance(node, ast.Call) and is_torch_compile(node.func))
