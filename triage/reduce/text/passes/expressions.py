"""An expression in place of a larger one that holds it, and an element less in a list, tuple, set or dictionary."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace

from triage.model.text import words
from triage.reduce.text.code.compile_calls import is_torch_compile
from triage.reduce.text.code.edits import without_item
from triage.reduce.text.code.nodes import calls, string_of
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, never_stricter, one

_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp,
          ast.JoinedStr, ast.SetComp, ast.DictComp, ast.GeneratorExp)  # fmt: skip
_LOOSE = (
    ast.Call, ast.keyword, ast.List, ast.Set, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return,
    ast.If, ast.While, ast.Assert,
)  # fmt: skip
_KEPT = (ast.Name, ast.Constant, ast.Lambda, ast.Starred, ast.JoinedStr, ast.FormattedValue, ast.Slice,
         ast.GeneratorExp)  # fmt: skip
_MOST_PARTS = 6
_SUBMODULES = words(
    "amp attention autograd checkpoint distributions fft func functional init linalg nested nn optim parametrizations random rnn "
    "sparse special testing utils"
)
_VALUES = ("1", "[]", "torch.ones(1)", "torch.ones(2)")  # in place of what was read, loaded or computed


@never_stricter
def propose(script: Script) -> Iterator[Choice]:
    """The largest expressions first within a statement; statements in order."""
    packages = _packages(script)
    for node in script.nodes:
        if isinstance(node, ast.expr) and _may_go(script, node):
            edits = [Edit(*script.span(node), text) for text in _smaller(script, node, packages)]
            for edit in edits:
                if edit.text != script.source(node):
                    yield one(edit)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr) and node.value is not None:
            yield from _calls_within(script, node.value)
        if isinstance(node, ast.Name) and _is_given(script, node):
            yield one(Edit(*script.span(node), "1"))
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            yield from _elements(script, node)
        elif isinstance(node, ast.Dict):
            yield from _pairs(script, node)
        elif isinstance(node, ast.Slice):
            yield from _bounds(script, node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Return) and node.value is not None:
            yield from _only_the_value(script, node)
        elif isinstance(node, ast.Yield) and node.value is not None:
            yield one(Edit(script.span(node)[0] + len("yield"), script.span(node.value)[1]))
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from _plain_exception(script, node.exc)


def _is_given(script: Script, node: ast.Name) -> bool:
    """`Config` in `f(Config)`, a statement of the module: with a number in its place it need not be defined."""
    call = script.parents[node]
    if not isinstance(call, ast.Call) or node not in call.args or is_torch_compile(call.func):
        return False
    return isinstance(script.parents[call], ast.Expr) and script.parents[script.parents[call]] is script.tree


def _may_go(script: Script, node: ast.expr) -> bool:
    if isinstance(node, _KEPT) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    above: ast.AST = node
    while above in script.parents:
        below, above = above, script.parents[above]
        if isinstance(above, ast.JoinedStr):  # its parts have no places of their own before Python 3.12
            return False
        if isinstance(above, ast.arg | ast.AnnAssign) and below is getattr(above, "annotation", None):
            return False
        if isinstance(above, ast.ClassDef) and below in above.bases and not isinstance(below, ast.Call):
            return False  # another base is proposed by `definitions`; `torch.nn` is none
        if isinstance(above, ast.stmt):
            return not (isinstance(above, ast.FunctionDef | ast.ClassDef) and below in above.decorator_list)
    return True


def _is_searched(script: Script, node: ast.expr) -> bool:
    """Whether something is looked for in it: `op in ("call_method",)` asks another question of its only element."""
    above = script.parents[node]
    return (
        isinstance(node, ast.Tuple | ast.List | ast.Set)
        and isinstance(above, ast.Compare)
        and any(
            item is node and isinstance(operator, ast.In | ast.NotIn)
            for item, operator in zip(above.comparators, above.ops, strict=True)
        )
    )


def _smaller(script: Script, node: ast.expr, packages: frozenset[str]) -> Iterator[str]:
    if _is_searched(script, node):
        return
    if calls(node, "getattr") and len(node.args) > 1 and isinstance(node.args[0], _ATOMS):
        name = string_of(node.args[1]) or ""
        if name.isidentifier():
            yield f"{script.source(node.args[0])}.{name}"
    parts = [
        part
        for part in _parts(node)
        if not isinstance(part, ast.Starred | ast.GeneratorExp) and not _is_package(part, packages)
    ]
    loose = isinstance(script.parents[node], _LOOSE)
    if isinstance(node, ast.Compare) and isinstance(script.parents[node], ast.If | ast.While | ast.Assert):
        # `if "__main__":` is `if True:`, in disguise.
        parts = [part for part in parts if not isinstance(part, ast.Constant)]
    for part in sorted(parts[:_MOST_PARTS], key=lambda part: len(script.source(part))):
        text = script.source(part)
        yield text if loose or isinstance(part, (*_ATOMS, ast.Slice)) else f"({text})"
    if isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        yield "True"
    elif isinstance(node, ast.Attribute | ast.Subscript | ast.BinOp):
        above = script.parents[node]
        if not (isinstance(above, ast.Call) and node is above.func):  # a number cannot be called
            yield "1"
    elif isinstance(node, ast.Call) and isinstance(script.parents[node], ast.Call | ast.keyword):
        yield "None"
    turns = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
    if isinstance(turns, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        yield from _one_turn(script, turns, loose)
    if isinstance(node, ast.ListComp):
        yield "[]"
        yield f"[{script.source(node.elt)}]"
    if isinstance(script.parents[node], ast.Assign) and not isinstance(node, ast.Tuple | ast.List | ast.Dict):
        yield from _VALUES


def _calls_within(script: Script, value: ast.expr) -> Iterator[Choice]:
    """`h(x)` in place of `a + f(x, h(x))`: what lies between the two may only fit together as a whole."""
    near = {value, *_parts(value)}
    for node in itertools.islice(_own_calls(value), _MOST_PARTS):
        if node not in near:
            yield one(Edit(*script.span(value), script.source(node)))


def _own_calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in an expression, but for those in which it gives names a meaning of their own."""
    if isinstance(node, ast.Call):
        yield node
    if not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr)):
        for inner in ast.iter_child_nodes(node):
            yield from _own_calls(inner)


def _packages(script: Script) -> frozenset[str]:
    """The names of packages and their modules, as far as the imports tell."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for found in script.nodes
        if isinstance(found, ast.Import | ast.ImportFrom)
        for alias in found.names
        if isinstance(found, ast.Import)
        or (alias.name in _SUBMODULES and (found.module or "").partition(".")[0] == "torch")
    )


def _is_package(node: ast.expr, packages: frozenset[str]) -> bool:
    """`torch`, `np`, `torch.nn.functional`: nothing computes with one, nor calls it."""
    if isinstance(node, ast.Attribute):
        return node.attr in _SUBMODULES and _is_package(node.value, packages)
    return isinstance(node, ast.Name) and node.id in packages


def _one_turn(script: Script, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, loose: bool) -> Iterator[str]:
    """`f(xs)`, `f(xs[0])` in place of `[f(x) for x in xs]`, `all(f(x) for x in xs)`, and so with what a `zip` goes through."""
    values = _bound(node.generators[0])
    if len(node.generators) > 1 or not values or not all(isinstance(value, _ATOMS) for value in values.values()):
        return
    start, end = script.span(node.elt)
    uses = [item for item in ast.walk(node.elt) if isinstance(item, ast.Name) and item.id in values]
    lazy = any(isinstance(value, ast.Call) for value in values.values())  # what a call gives may have no places
    for form in ("{}", "{}[0]", "next(iter({}))") if lazy else ("{}", "{}[0]"):
        edits = (Edit(*script.span(item), form.format(script.source(values[item.id]))) for item in uses)
        text = script.part(start, end, edits)
        yield text if loose or isinstance(node.elt, _ATOMS) else f"({text})"


def _bound(loop: ast.comprehension) -> dict[str, ast.expr]:
    """The names that a comprehension's loop gives values to, and what each goes through."""
    target, over = loop.target, loop.iter
    if isinstance(target, ast.Name):
        return {target.id: over}
    if isinstance(target, ast.Tuple) and isinstance(over, ast.Call) and getattr(over.func, "id", "") == "zip":
        pairs = zip(target.elts, over.args, strict=False)
        return {name.id: given for name, given in pairs if isinstance(name, ast.Name)}
    return {}


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        lazy = [part for item in node.args if isinstance(item, ast.GeneratorExp) for part in _parts(item)]
        return [*node.args, *lazy, *(keyword.value for keyword in node.keywords), receiver]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Await | ast.NamedExpr):
        return [node.value]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return list(node.elts)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return [*elements, *(part for loop in node.generators for part in (*loop.ifs, loop.iter))]
    return []


def _elements(script: Script, node: ast.List | ast.Tuple | ast.Set) -> Iterator[Choice]:
    items = node.elts
    if len(items) == 2 and isinstance(script.parents[node], ast.Subscript):
        return  # `x[a]` is proposed as a part, and `x[a,]` is what nobody writes
    if len(items) == 1 and not isinstance(node, ast.List):
        return
    pair = len(items) == 2 and isinstance(node, ast.Tuple)  # what is left of one keeps its comma
    places = list(map(script.span, items))
    for index in range(int(pair), len(items)):
        yield one(replace(without_item(places, index), text="," if pair else ""))


def _bounds(script: Script, node: ast.Slice) -> Iterator[Choice]:
    """`a[:n]` in place of `a[0:n]`, `a[m:n]` in place of `a[m:n:2]`."""
    for item in (node.step, node.upper, node.lower):
        if item is not None:
            start, end = script.span(item)
            yield one(Edit(script.text.rindex(":", 0, start) if item is node.step else start, end))


def _pairs(script: Script, node: ast.Dict) -> Iterator[Choice]:
    places = [
        (script.span(key or value)[0] - (0 if key else 2), script.span(value)[1])
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    yield from (one(without_item(places, index)) for index in range(len(places)))


def _only_the_value(script: Script, node: ast.Assign | ast.AugAssign | ast.Return) -> Iterator[Choice]:
    """`a, b = f(x)` as `f(x)`, `return y` as `y`."""
    assert node.value is not None
    start, end = script.span(node)
    yield one(Edit(start, script.span(node.value)[0]), Edit(script.span(node.value)[1], end))
    if isinstance(node, ast.Return):
        yield one(Edit(start, end, "return"))
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        yield from _one_of_several(script, node, node.targets[0])


def _one_of_several(script: Script, node: ast.Assign, target: ast.Tuple) -> Iterator[Choice]:
    """`a, b = f(x)` as `a = torch.ones(1)`, or `a = 1`: what computed them may not matter."""
    for item in target.elts:
        if isinstance(item, ast.Name):
            for text in ("1", "torch.ones(1)"):
                yield one(Edit(*script.span(node), f"{item.id} = {text}"))


def _plain_exception(script: Script, raised: ast.Call) -> Iterator[Choice]:
    """`raise ValueError` in place of an exception made in a more elaborate way: of its own class, or what is caught."""
    caught: list[str] = []
    for above in script.above(raised):
        for handler in getattr(above, "handlers", ()):
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            caught += [script.source(kind) for kind in kinds if kind is not None]
    for text in dict.fromkeys([script.source(raised.func), *caught]):
        yield one(Edit(*script.span(raised), text))
