"""An argument less in a call: keyword arguments, then positional ones, the last first; not what `torch.compile` compiles."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.compile_calls import is_torch_compile
from triage.reduce.text.code.edits import without_argument
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, never_stricter, one

# What is left of a call that loses its only argument, as people write it.
_EMPTY = {"int": "0", "float": "0.0", "bool": "False", "str": '""', "list": "[]", "tuple": "()", "dict": "{}"}


@never_stricter
def propose(script: Script) -> Iterator[Choice]:
    for call in script.calls:
        for keyword in call.keywords:
            yield one(without_argument(script, call, keyword))
        if is_torch_compile(call.func):
            continue  # without a function it is a decorator, which no call of the compiled function is meant for
        for argument in reversed([item for item in call.args if not isinstance(item, ast.GeneratorExp)]):
            yield one(_without(script, call, argument))


def _without(script: Script, call: ast.Call, argument: ast.expr) -> Edit:
    """`0` in place of `int(x)`, `f()` of `f(x)`."""
    alone = len(call.args) == 1 and not call.keywords and not isinstance(script.parents[call], ast.Attribute)
    if alone and isinstance(call.func, ast.Name) and call.func.id in _EMPTY:
        return Edit(*script.span(call), _EMPTY[call.func.id])
    return without_argument(script, call, argument)
