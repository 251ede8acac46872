"""`A()` in place of `B()`, a module that calls the A it made and does nothing else; so `f` for a function that only calls f."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences, atom
from triage.reduce.text.code.nodes import all_arguments, names_within
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    yield from _functions(script)
    for node in script.tree.body:
        if not isinstance(node, ast.ClassDef) or node.decorator_list:
            continue
        methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        if set(methods) != {"__init__", "forward"} or len(node.body) != 2:
            continue
        child = _only_child(methods["__init__"])
        if child is None or not _only_calls(methods["forward"], child.targets[0]):
            continue
        parameters = [argument.arg for argument in methods["__init__"].args.args[1:]]
        named = names_within(child.value)
        uses = [item for item in script.nodes if isinstance(item, ast.Name) and item.id == node.name]
        calls = [script.parents[use] for use in uses]
        made = [call for call, use in zip(calls, uses, strict=True) if isinstance(call, ast.Call) and call.func is use]
        if made and len(made) == len(uses) and not named & set(parameters):
            yield one(*(Edit(*script.span(call), script.source(child.value)) for call in made))


def _functions(script: Script) -> Iterator[Choice]:
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


def _only_child(init: ast.FunctionDef) -> ast.Assign | None:
    """`self.child = A()`, where a constructor does nothing else."""
    kept = [item for item in init.body if "super().__init__" not in ast.unparse(item)]
    made = kept[0] if len(kept) == 1 and not init.args.vararg and not init.args.kwarg else None
    one_name = isinstance(made, ast.Assign) and len(made.targets) == 1 and isinstance(made.targets[0], ast.Attribute)
    return made if isinstance(made, ast.Assign) and one_name else None


def _only_calls(forward: ast.FunctionDef, child: ast.expr) -> bool:
    """Whether a method is `return self.child(x)`, with the arguments it was given."""
    told, given = forward.body[0], [argument.arg for argument in forward.args.args[1:]]
    call = told.value if len(forward.body) == 1 and isinstance(told, ast.Return) else None
    if not isinstance(call, ast.Call) or call.keywords or forward.args.vararg or forward.args.kwarg:
        return False
    passed = [item.id if isinstance(item, ast.Name) else "" for item in call.args]
    return ast.unparse(call.func) == ast.unparse(child) and passed == given
