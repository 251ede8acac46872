"""A reproducer's text with another setting in each of its calls of torch.compile, and in each decorator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from triage.model.rungs import INDUCTORS
from triage.reduce.text.code.compile_calls import compile_uses, literal_options, option_taken_out
from triage.reduce.text.code.script import Edit, Script


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
    """`torch.compile(...)`, `module.compile(...)`, `partial(torch.compile, ...)`."""
    return (use for use in compile_uses(script) if isinstance(use, ast.Call))


def _bare(script: Script) -> Iterator[ast.Attribute]:
    """`@torch.compile`, without parentheses."""
    return (use for use in compile_uses(script) if isinstance(use, ast.Attribute))


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
