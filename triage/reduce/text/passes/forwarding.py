"""`A()` in place of `B()`, a module that calls the A it made and does nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.nodes import names_within
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
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
