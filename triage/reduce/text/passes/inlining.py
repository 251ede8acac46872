"""A function's body in place of its call, a value in place of its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import Occurrence, Occurrences, Scope, atom, text_for
from triage.reduce.text.code.nodes import all_arguments, names_within, pairs_of
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

WIDEST, WIDEST_OF_ALL = 100, 140
_HOLDING_MODULES = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


def propose(script: Script) -> Iterator[Choice]:
    seen = Occurrences(script)
    for statement, _ in script.statements():
        if isinstance(statement, ast.FunctionDef):
            yield from _body_for_call(script, seen, statement)
            yield from _result_for_call(script, seen, statement)
        elif isinstance(statement, ast.ClassDef):
            yield from _value_for_field(script, statement)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            yield from _value_for_name(script, seen, statement)
            yield from _one_of_several(script, seen, statement)
            yield from _item_for_name(script, seen, statement)
            yield from _value_for_attribute(script, seen, statement)
            yield from _only_element(script, statement)


def _body_for_call(script: Script, seen: Occurrences, node: ast.FunctionDef) -> Iterator[Choice]:
    """`def main(): ...` and `main()` as the statements of main, below what its parameters are.

    So for `next(batches())`: what a generator does up to its first `yield`.
    """
    scope = script.parents[node]
    if node.decorator_list or not isinstance(scope, ast.Module | ast.FunctionDef):
        return
    parameters = all_arguments(node.args)
    if len(parameters) > len(node.args.args):  # only plain ones
        return
    home = seen.scope_at(scope)
    uses = seen.reads(node.name, home)
    if len(uses) != 1 or (uses[0] not in home.found and scope is not script.tree):
        return
    call = script.parents.get(uses[0].node)
    if not isinstance(call, ast.Call) or call.func is not uses[0].node:
        return
    body, value, yields = _until_its_value(node)
    if yields and value is None:
        return  # what it gives first lies within a loop, which becomes one turn before
    stands = _first_of(script, call) if yields else call
    statement = script.parents[stands] if stands is not None else None
    if not isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        return
    if call.keywords or len(call.args) != len(parameters) or any(isinstance(item, ast.Starred) for item in call.args):
        return
    told = zip((item.arg for item in parameters), map(script.source, call.args), strict=True)
    given = "".join(f"{script.indent(statement)}{name} = {value}\n" for name, value in told if name != value)
    pairs = _bound(script, statement, value) if isinstance(statement, ast.Assign) and value is not None else []
    tail = "".join(f"{script.indent(statement)}{name} = {given}\n" for name, given in pairs)
    # What its body declares is at home where it stands now.
    declared = ast.Global if script.parents[statement] is script.tree else ast.Nonlocal
    body = [item for item in body if not isinstance(item, declared)]
    text = "".join(script.body_text([item], script.indent(statement)) for item in body)
    yield one(Edit(*script.lines_span(node)), Edit(*script.lines_span(statement), given + text + tail))


def _until_its_value(node: ast.FunctionDef) -> tuple[list[ast.stmt], ast.expr | None, bool]:
    """The statements of a function before it gives a value, the value, and whether it is the first one of a generator."""
    for number, item in enumerate(node.body):
        if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(item)):
            said = item.value if isinstance(item, ast.Expr) else None
            return node.body[:number], said.value if isinstance(said, ast.Yield) else None, True
    last = node.body[-1]
    return (node.body[:-1], last.value, False) if isinstance(last, ast.Return) else (list(node.body), None, False)


def _first_of(script: Script, call: ast.Call) -> ast.AST | None:
    """The `next(...)` or `next(iter(...))` around the call of a generator; None where there is none."""
    place: ast.AST = call
    for name in ("iter", "next"):
        above = script.parents[place]
        if isinstance(above, ast.Call) and above.args == [place] and ast.unparse(above.func) == name:
            place = above
    return place if place is not call and ast.unparse(place).startswith("next(") else None


def _bound(script: Script, statement: ast.Assign, value: ast.expr) -> list[tuple[str, str]]:
    """What the statement binds and to what, once the value stands in it: one by one, where both sides tell."""
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(map(script.source, target.elts), map(script.source, value.elts), strict=True))
        return [(name, given) for name, given in pairs if name != given]
    return [(script.source(target), script.source(value))]


def _result_for_call(script: Script, seen: Occurrences, node: ast.FunctionDef) -> Iterator[Choice]:
    """`def f(a): return a + 1` and `f(x)` as `(x + 1)`."""
    if len(node.body) != 1 or not isinstance(node.body[0], ast.Return) or node.body[0].value is None:
        return
    if script.parents[node] is not script.tree or node.decorator_list:
        return
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if len(all_arguments(node.args)) > len(names):  # only plain ones
        return
    inner = seen.scope_at(node)
    edits = [Edit(*script.lines_span(node))]
    uses = seen.reads(node.name)
    for place in uses:
        call = script.parents.get(place.node)
        if (
            not isinstance(call, ast.Call)
            or call.func is not place.node
            or call.keywords
            or len(call.args) != len(names)
        ):
            return
        given = dict(zip(names, map(script.source, call.args), strict=True))
        edits.append(Edit(*script.span(call), _filled(script, seen, inner, node.body[0].value, given)))
    text = script.replaced(edits)
    lines = set(text.splitlines()) - set(script.text.splitlines())
    # What is called often is made smaller at all places at once while it is a function: one that cannot get smaller goes.
    few = 0 < len(uses) < 3 or (uses and _is_bare_call(node.body[0].value) and len(text) < len(script.text))
    if few and all(len(line) <= WIDEST_OF_ALL for line in lines):
        yield one(*edits)


def _is_bare_call(value: ast.expr) -> bool:
    """`model(x, 1)`, `x.sum()`: a call of which and to which only names and constants are given."""
    if not isinstance(value, ast.Call) or value.keywords:
        return False
    held = [value.func.value if isinstance(value.func, ast.Attribute) else value.func, *value.args]
    return all(isinstance(each, ast.Name | ast.Constant) for each in held)


def _filled(script: Script, seen: Occurrences, inner: Scope, value: ast.expr, given: dict[str, str]) -> str:
    start, end = script.span(value)
    places = [place for name in given for place in seen.of(name, inner) if start <= place.start < end]
    return atom(script.part(start, end, (Edit(place.start, place.end, atom(given[place.name])) for place in places)))


def _value_for_name(script: Script, seen: Occurrences, node: ast.Assign) -> Iterator[Choice]:
    """A name that is bound once: its value where it is used, if that is plain or it is used once nearby."""
    target = node.targets[0]
    uses = _uses_if_bound_once(seen, target) if isinstance(target, ast.Name) else None
    if not uses:
        return
    picked = isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Name)
    plain = picked or isinstance(node.value, ast.Name | ast.Constant | ast.Attribute)
    if not plain and not _used_once_next(script, node, uses):
        return
    value = script.source(node.value)
    if "\n" in value:
        return
    texts = [text_for(script, place.node, value) for place in uses]
    yield one(
        deletion(script, node),
        *(Edit(place.start, place.end, text) for place, text in zip(uses, texts, strict=True)),
    )


def _one_of_several(script: Script, seen: Occurrences, node: ast.Assign) -> Iterator[Choice]:
    """`a, b = f, g()` as `b = g()`, with f where a is used; so for `self.a, self.b`."""
    pairs = pairs_of(node)
    for target, value in pairs if len(pairs) > 1 else ():
        edits: list[Edit] | None = None
        if isinstance(target, ast.Name) and isinstance(value, ast.Name | ast.Constant | ast.Attribute):
            uses = _uses_if_bound_once(seen, target)
            if uses is not None:
                edits = [Edit(use.start, use.end, text_for(script, use.node, script.source(value))) for use in uses]
        elif isinstance(target, ast.Attribute) and _is_seen_everywhere(seen, value):
            reads = _reads_if_set_once(script, target)
            if reads is not None:
                edits = [Edit(*script.span(item), script.source(value)) for item in reads]
        if edits is None:
            continue
        left, right = (
            ", ".join(script.source(item) for item in side)
            for side in zip(*(pair for pair in pairs if pair[0] is not target), strict=True)
        )
        yield one(Edit(*script.span(node), f"{left} = {right}"), *edits)


def _item_for_name(script: Script, seen: Occurrences, node: ast.Assign) -> Iterator[Choice]:
    """`a, b = f(x)` of which only b is read, once: `f(x)[1]` there."""
    target = node.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) and not isinstance(node.value, ast.Tuple) else []
    uses = [_uses_if_bound_once(seen, name) if isinstance(name, ast.Name) else None for name in names]
    read = [number for number, places in enumerate(uses) if places != []]
    places = uses[read[0]] if len(read) == 1 else None
    value = script.source(node.value)
    if places and "\n" not in value and _used_once_next(script, node, places):
        place = places[0]
        yield one(deletion(script, node), Edit(place.start, place.end, f"{atom(value)}[{read[0]}]"))


def _uses_if_bound_once(seen: Occurrences, target: ast.Name) -> list[Occurrence] | None:
    """Where the name is read; None where it is bound elsewhere too, or a use has no known place."""
    scope = next((s for s in seen.scopes for item in s.found if item.node is target), seen.module)
    places = seen.of(target.id, scope.owner(target.id))
    uses = [place for place in places if not place.binds]
    return uses if len(places) - len(uses) == 1 and all(place.placed for place in uses) else None


def _value_for_attribute(script: Script, seen: Occurrences, node: ast.Assign) -> Iterator[Choice]:
    """`self.width = 3`, the only place that sets an attribute of this name: 3 where it is read. So for a global name.

    So for a table of constants that is read in one place.
    """
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Attribute) and (_is_seen_everywhere(seen, value) or _is_table(value)):
        reads = _reads_if_set_once(script, target)
        if reads and (len(reads) == 1 or not _is_table(value)):
            gone = deletion(script, node)
            yield one(gone, *(Edit(*script.span(item), script.source(value)) for item in reads))


def _value_for_field(script: Script, node: ast.ClassDef) -> Iterator[Choice]:
    """`width: int = 3` in a class, as of a configuration: 3 where an attribute of this name is read."""
    for item in node.body:
        target = item.target if isinstance(item, ast.AnnAssign) else getattr(item, "targets", [None])[0]
        value = getattr(item, "value", None)
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Constant):
            continue
        places = [at for at in script.nodes if isinstance(at, ast.Attribute) and at.attr == target.id]
        given = any(isinstance(at, ast.keyword) and at.arg == target.id for at in script.nodes)
        named = any(isinstance(at, ast.Name) and at.id == target.id and at is not target for at in ast.walk(node))
        if places and not given and not named and all(isinstance(at.ctx, ast.Load) for at in places):
            gone = deletion(script, item)
            yield one(gone, *(Edit(*script.span(place), script.source(value)) for place in places))


def _is_seen_everywhere(seen: Occurrences, value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (
        isinstance(value, ast.Name) and any(place.node is value for place in seen.of(value.id))
    )


def _is_table(value: ast.expr) -> bool:
    """A list or dictionary in which only constants are written down."""
    held = (item for item in ast.walk(value) if isinstance(item, ast.expr))
    constant = all(isinstance(item, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.UnaryOp) for item in held)
    return isinstance(value, ast.List | ast.Tuple | ast.Dict) and constant


def _reads_if_set_once(script: Script, target: ast.Attribute) -> list[ast.Attribute] | None:
    """Where an attribute of this name is read; None where it is set elsewhere too."""
    places = [item for item in script.nodes if isinstance(item, ast.Attribute) and item.attr == target.attr]
    reads = [item for item in places if isinstance(item.ctx, ast.Load)]
    return reads if len(places) == len(reads) + 1 else None


def _only_element(script: Script, node: ast.Assign) -> Iterator[Choice]:
    """`xs = [x]` as `xs = x`, where only its elements are read; so for a dictionary, a ModuleList and a ModuleDict.

    Of `[f() for _ in range(3)]` and of a Sequential one element may do as well.
    """
    target, value = node.targets[0], node.value
    called = False
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        kind, (argument,) = ast.unparse(value.func).split(".")[-1], value.args
        called = kind == "Sequential"
        if called:
            value = argument.value if isinstance(argument, ast.Starred) else ast.List([argument], ast.Load())
        elif kind in _HOLDING_MODULES:
            value = argument
    held = _held(value)
    if len(held) != 1 or isinstance(held[0], ast.Starred) or not isinstance(target, ast.Name | ast.Attribute):
        return
    told = ast.unparse(target)
    places = [item for item in script.nodes if isinstance(item, type(target)) and ast.unparse(item) == told]
    reads = [_element_read(script, item, told, called=called) for item in places if item is not target]
    edits = [edit for edit in reads if edit is not None]
    if edits and len(edits) == len(reads):
        yield one(Edit(*script.span(node.value), script.source(held[0])), *edits)


def _held(value: ast.expr) -> list[ast.expr]:
    """The elements that are written down; of a comprehension that makes equal ones, the one it makes."""
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        named = {name for loop in value.generators for name in names_within(loop.target)}
        return [] if named & names_within(value.elt) else [value.elt]
    if isinstance(value, ast.Dict):
        return value.values
    return value.elts if isinstance(value, ast.List | ast.Tuple) else []


def _element_read(script: Script, place: ast.AST, told: str, *, called: bool) -> Edit | None:
    """The place that reads an element with the element itself in it; None where more than an element is read."""
    above = script.parents[place]
    if isinstance(above, ast.Subscript) and above.value is place and isinstance(above.slice, ast.Constant):
        return Edit(*script.span(above), told)
    if isinstance(above, ast.For) and above.iter is place:
        return Edit(*script.span(place), f"[{told}]")
    if isinstance(above, ast.Call) and above.func is place and called:
        return Edit(*script.span(place), told)
    beyond = script.parents[above]
    first = isinstance(above, ast.Call) and ast.unparse(above.func) == "iter" and isinstance(beyond, ast.Call)
    return Edit(*script.span(beyond), told) if first and ast.unparse(beyond.func) == "next" else None  # type: ignore[attr-defined]


def _used_once_next(script: Script, node: ast.Assign, uses: list[Occurrence]) -> bool:
    """Only within functions: at module level a line per step reads better."""
    if len(uses) != 1 or script.parents[node] is script.tree:
        return False
    line = script.text.splitlines()[uses[0].node.lineno - 1]  # type: ignore[attr-defined]
    return len(line) + len(script.source(node.value)) < WIDEST
