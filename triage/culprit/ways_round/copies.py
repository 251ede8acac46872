"""A copy of an argument for what is compiled, where the failure needs how a tensor lies in memory: its strides, its storage."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from triage.culprit.compile_arguments import Use
from triage.culprit.ways_round.source import Source, imported_names
from triage.reduce.text.code.script import Edit, Function

_NEEDS_NO_PARENTHESES = ast.Name | ast.Attribute | ast.Subscript | ast.Call


@dataclass(frozen=True)
class Copied:
    """Calls of `function` in the file are given copies of `arguments`; the first is on `line`."""

    function: str
    arguments: tuple[str, ...]
    line: int
    edits: tuple[Edit, ...]


def copied_arguments(source: Source, use: Use, parameters: Collection[str]) -> Copied | None:
    """Contiguous copies of the arguments for these parameters, in the calls of what this use of torch.compile gives.

    Known by its name alone: a decorated function, or `fast = torch.compile(slow)`. Where its parameters are not, the one
    argument is meant. None where no call is found.
    """
    name, function = _compiled(source, use)
    calls = [
        node
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]
    given = [(call, value) for call in calls for value in _given(call, function, parameters)]
    if name is None or not given or "torch" not in imported_names(source):
        return None
    edits = tuple(Edit(*source.span(value), _copy(source, value)) for _, value in given)
    told = tuple(dict.fromkeys(source.source(value) for _, value in given))
    return Copied(name, told, min(call.lineno for call, _ in given), edits)


def _compiled(source: Source, use: Use) -> tuple[str | None, Function | None]:
    """The name of what the use gives, and the function that it compiles where that is seen."""
    above = source.parents.get(use)
    if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and use in above.decorator_list:
        return above.name, above
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        first = use.args[0] if isinstance(use, ast.Call) and use.args else None
        named = first.id if isinstance(first, ast.Name) else ""
        functions = [each for each in source.tree.body if isinstance(each, ast.FunctionDef) and each.name == named]
        return above.targets[0].id, functions[0] if functions else None
    return None, None


def _given(call: ast.Call, function: Function | None, parameters: Collection[str]) -> Iterator[ast.expr]:
    """The arguments for these parameters."""
    words = {word.arg: word.value for word in call.keywords if word.arg in parameters}
    if function is None:
        yield from call.args if len(call.args) == 1 and not call.keywords else words.values()
        return
    own = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    for name, value in zip(own, call.args):  # noqa: B905  the rest have their defaults
        if isinstance(value, ast.Starred):
            break
        if name in parameters:
            yield value
    yield from words.values()


def _copy(source: Source, value: ast.expr) -> str:
    """It is laid out anew whatever it was; `contiguous()` would give a lazy tensor back, `clone()` alone keeps strides."""
    text = source.source(value)
    plain = text if isinstance(value, _NEEDS_NO_PARENTHESES) else f"({text})"
    return f"{plain}.clone(memory_format=torch.contiguous_format)"
