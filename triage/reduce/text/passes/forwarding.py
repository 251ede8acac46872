"""A function in place of one that only calls it, and a module in place of one that does nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences, atom
from triage.reduce.text.code.nodes import all_arguments, names_within
from triage.reduce.text.code.own_names import is_module
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    """`vmap(f)` in place of `vmap(g)` with `def g(x): return f(x)`, and of `vmap(lambda x: f(x))`.

    What a call makes (`def g(x): return grad(f)(x)`) keeps its name where it is read more than once: `g = grad(f)`.
    """
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
            if not uses or node.name in names_within(called):
                continue
            text = atom(script.source(called))
            if len(uses) > 1 and isinstance(called, ast.Call):
                yield one(Edit(*script.span(node), f"{node.name} = {text}"))
            elif all(use.placed for use in uses):
                yield one(Edit(*script.lines_span(node)), *(Edit(*script.span(use.node), text) for use in uses))
        elif isinstance(node, ast.ClassDef) and script.parents[node] is script.tree and is_module(node):
            edits = _module_within(script, seen, node)
            if edits:
                yield one(*edits)


def _module_within(script: Script, seen: Occurrences, node: ast.ClassDef) -> list[Edit]:
    """`Net()` for `Model()` and `model.lin` for `model.net.lin`, where a Model makes a `self.net = Net()` and calls it.

    Wrappers of this kind are what is left of models of which only what they hold is needed. Empty where it is more than that.
    """
    held = _held_alone(node)
    if held is None:
        return []
    name, value = held
    uses = [use.node for use in seen.reads(node.name)]
    made = [script.parents[use] for use in uses]
    if not made or any(
        not isinstance(call, ast.Call) or call.func not in uses or call.args or call.keywords for call in made
    ):
        return []
    within = set(ast.walk(node))
    read = [
        each for each in script.nodes if isinstance(each, ast.Attribute) and each.attr == name and each not in within
    ]
    edits = [Edit(*script.span(call), script.source(value)) for call in made]
    edits += [Edit(script.span(each.value)[1], script.span(each)[1]) for each in read]
    return [Edit(*script.lines_span(node)), *edits]


def _held_alone(node: ast.ClassDef) -> tuple[str, ast.expr] | None:
    """The only attribute that a module's `__init__` sets, with its value, where all that `forward` does is to call it."""
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef) and not item.decorator_list}
    if len(node.body) != 2 or set(methods) != {"__init__", "forward"}:
        return None
    begun, forward = methods["__init__"], methods["forward"]
    kept = [item for item in begun.body if ast.unparse(item) != "super().__init__()"]
    if len(all_arguments(begun.args)) != 1 or len(kept) != 1 or len(forward.body) != 1:
        return None
    own, given = begun.args.args[0].arg, ast.arguments([], forward.args.args[1:], None, [], [], None, [])
    result, setting = forward.body[0], kept[0]
    if not isinstance(result, ast.Return) or not isinstance(setting, ast.Assign) or len(setting.targets) != 1:
        return None
    called, target = _called_with_the_same(given, result.value), setting.targets[0]
    if called is None or not isinstance(target, ast.Attribute) or own in names_within(setting.value):
        return None
    return (
        (target.attr, setting.value) if ast.unparse(called) == ast.unparse(target) == f"{own}.{target.attr}" else None
    )


def _called_with_the_same(given: ast.arguments, value: ast.expr | None) -> ast.expr | None:
    """`f` of `lambda x, y: f(x, y)`; None where it does more, or where what is called depends on x."""
    names = [item.arg for item in given.args]
    if not isinstance(value, ast.Call) or value.keywords or len(all_arguments(given)) > len(names) or not names:
        return None
    passed = [item.id if isinstance(item, ast.Name) else "" for item in value.args]
    simple = _is_named(value.func) or _makes_a_function(value.func)
    return value.func if simple and not names_within(value.func) & set(names) and passed == names else None


def _makes_a_function(node: ast.expr) -> bool:
    """`grad(f)` and `vmap(f, 1)`: a call given names and constants."""
    if not isinstance(node, ast.Call) or not _is_named(node.func):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return all(_is_named(item) or isinstance(item, ast.Constant) for item in given)


def _is_named(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)
