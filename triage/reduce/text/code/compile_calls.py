"""Where a script uses torch.compile, and what it gives it."""

from __future__ import annotations

import ast

from triage.reduce.text.code.edits import without_argument, without_item
from triage.reduce.text.code.nodes import bound_name, imported_modules
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.weight import LAYOUT, tokens_of


def compile_uses(script: Script) -> list[ast.Call | ast.Attribute]:
    """Every `torch.compile(...)`, `module.compile(...)`, `partial(torch.compile, ...)`, bare decorator, and `torch.compile` where
    it is a value: `wrap = torch.compile if fast else plain`.
    """
    imported = imported_modules(script.nodes)
    modules = {bound_name(alias) for alias in imported if alias.name.split(".")[0] != "torch"}
    found: list[ast.Call | ast.Attribute] = []
    for node in script.nodes:
        if isinstance(node, ast.Call):
            through = node.args[0] if is_partial(node) else node.func
            of_module = (
                isinstance(through, ast.Attribute)
                and isinstance(through.value, ast.Name)
                and through.value.id in modules
            )
            if isinstance(through, ast.Attribute) and through.attr == "compile" and not of_module:
                found.append(node)
        elif isinstance(node, ast.Attribute) and is_torch_compile(node) and _is_value(node, script.parents[node]):
            found.append(node)
    return found


def _is_value(node: ast.Attribute, above: ast.AST) -> bool:
    """Whether it is called later, or decorates: not called there, nor looked at."""
    if isinstance(above, ast.Call):
        return above.func is not node and not is_partial(above)
    return not isinstance(above, ast.Attribute | ast.Compare)


def is_torch_compile(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "compile"
        and isinstance(node.value, ast.Name)
        and node.value.id == "torch"
    )


def compiled_name(node: ast.AST) -> str:
    """`f` of `torch.compile(f, ...)`; empty for anything else."""
    if isinstance(node, ast.Call) and is_torch_compile(node.func) and node.args:
        return getattr(node.args[0], "id", "")
    return ""


def is_partial(node: ast.Call) -> bool:
    """`functools.partial(torch.compile, ...)`, a usual way to write a decorator with arguments."""
    return bool(node.args) and is_torch_compile(node.args[0]) and ast.unparse(node.func).split(".")[-1] == "partial"


def option_taken_out(script: Script, call: ast.Call, name: str) -> Edit | None:
    """The edit that takes one option out of a call's `options=`, however they are written; None where it is not there."""
    word = next((each for each in call.keywords if each.arg == "options"), None)
    if word is None or (isinstance(word.value, ast.Constant) and word.value.value is None):
        return None
    names = literal_options(word.value)
    if names is None:
        told = script.source(word.value)
        given = told if isinstance(word.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({told})"
        rest = f"{{name: value for name, value in {given}.items() if name != {name!r}}}"
        return Edit(*script.span(word.value), rest)
    if name not in names:
        return None
    if len(names) == 1:
        return without_argument(script, call, word)
    assert isinstance(word.value, ast.Dict)
    keys = (script.span(key)[0] for key in word.value.keys if key is not None)
    ends = (script.span(value)[1] for value in word.value.values)
    return without_item(list(zip(keys, ends, strict=True)), names.index(name))


def literal_options(given: ast.expr) -> tuple[str, ...] | None:
    """The names in a dictionary that is written out; None of anything else."""
    if not isinstance(given, ast.Dict):
        return None
    names = [key.value for key in given.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return tuple(names) if len(set(names)) == len(given.keys) else None


def last_token(script: Script, call: ast.Call) -> tuple[int, str]:
    """Where the last token before a call's closing parenthesis ends, and that token: below it there may be comments."""
    source = Script(f"({script.source(call)})")
    last = [item for item in tokens_of(source.text) if item.type not in LAYOUT][-3]
    line, column = last.end
    return script.span(call)[0] + source.offset(line, 0) + column - 1, last.string
