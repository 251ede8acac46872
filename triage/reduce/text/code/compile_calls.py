"""The calls of torch.compile in a script, as text: with another argument, everywhere it is called or decorates."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from typing import Any

from triage.model.rungs import INDUCTORS
from triage.reduce.text.code.edits import without_argument
from triage.reduce.text.code.nodes import bound_name, imported_modules
from triage.reduce.text.code.script import Edit, Script

_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)


def compile_uses(script: Script) -> list[ast.Call | ast.Attribute]:
    """Every `torch.compile(...)`, `module.compile(...)`, `partial(torch.compile, ...)` and bare decorator."""
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
        found += [item for item in getattr(node, "decorator_list", ()) if is_torch_compile(item)]
    return found


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


def is_fullgraph(source: str) -> bool:
    """Whether a call asks for one graph."""
    return any(
        word.arg == "fullgraph" and isinstance(word.value, ast.Constant) and word.value.value is True
        for call in _calls(Script(source))
        for word in call.keywords
    )


def options_of(source: str) -> tuple[str, ...] | None:
    """The names of the options that its calls are given, where they are written out; None where none is given any."""
    given = [word.value for call in _calls(Script(source)) for word in call.keywords if word.arg == "options"]
    return tuple(dict.fromkeys(name for each in given for name in literal_options(each) or ())) if given else None


def without_option(source: str, name: str) -> str | None:
    """The script without this option in each of its calls.

    >>> without_option("g = torch.compile(f, options={'a': 1, 'b': 2})", "a")
    "g = torch.compile(f, options={'b': 2})"
    """
    script = Script(source)
    edits = [edit for call in _calls(script) if (edit := option_taken_out(script, call, name)) is not None]
    return script.replaced(edits) if edits else None


def with_setting(source: str, name: str, value: Any) -> str | None:
    """The script with this argument in each of its calls; None where there are none. A value of None takes it out.

    Of `mode` and `options` torch takes one: the other goes where one is given.

    >>> with_setting("g = torch.compile(f, dynamic=True)", "dynamic", False)
    'g = torch.compile(f, dynamic=False)'
    """
    script = Script(source)
    edits = [_edit_of_call(script, call, name, value) for call in _calls(script)]
    if value is not None:
        edits += [Edit(*script.span(bare), f"torch.compile({name}={value!r})") for bare in _bare(script)]
    return script.replaced(edits) if edits else None


def _calls(script: Script) -> Iterator[ast.Call]:
    return (node for node in script.nodes if isinstance(node, ast.Call) and is_torch_compile(node.func))


def _bare(script: Script) -> Iterator[ast.expr]:
    """`@torch.compile`, without parentheses."""
    for node in script.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from (each for each in node.decorator_list if is_torch_compile(each))


def _edit_of_call(script: Script, call: ast.Call, name: str, value: Any) -> Edit:
    word = next((word for word in call.keywords if word.arg == name), None)
    if word is not None and value is not None:
        return Edit(*script.span(word.value), repr(value))
    start, end = script.span(call)
    if word is None and value is None:
        return Edit(start, start)  # it stands there already
    gone = INDUCTORS if name in INDUCTORS else (name,)
    kept = ast.Call(call.func, call.args, [other for other in call.keywords if other.arg not in gone])
    if word is None:
        kept.keywords.append(ast.keyword(name, ast.Constant(value)))
    return Edit(start, end, ast.unparse(kept))


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
    keys = [key for key in word.value.keys if key is not None]
    place = names.index(name)
    if place:
        return Edit(script.span(word.value.values[place - 1])[1], script.span(word.value.values[place])[1])
    return Edit(script.span(keys[0])[0], script.span(keys[1])[0])


def literal_options(given: ast.expr) -> tuple[str, ...] | None:
    """The names in a dictionary that is written out; None of anything else."""
    if not isinstance(given, ast.Dict):
        return None
    names = [key.value for key in given.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return tuple(names) if len(set(names)) == len(given.keys) else None


def last_token(script: Script, call: ast.Call) -> tuple[int, str]:
    """Where the last token before a call's closing parenthesis ends, and that token: below it there may be comments."""
    source = Script(f"({script.source(call)})")
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    last = [item for item in tokens if item.type not in _LAYOUT][-3]
    line, column = last.end
    return script.span(call)[0] + source.offset(line, 0) + column - 1, last.string
