"""The form in which a candidate is run and reported (see the contract's `repro.py`).

One comment on top, and a backend that `TORCH_COMPILE_BACKEND` can change in every use of `torch.compile`. The passes work
on the text without that: so nothing of it can be reduced away, and what is run is, to the letter, what the report prints.
"""

from __future__ import annotations

import ast
import io
import tokenize

from triage.judge.judgement import RefusedError
from triage.model.rungs import DEFAULT_BACKEND, INDUCTORS, knows_modes
from triage.reduce.text.names import bound_globals, undefined
from triage.reduce.text.script import Edit, Script, quiet

VARIABLE = "TORCH_COMPILE_BACKEND"
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)


def shaped(script: Script, rung: str | None, header: str, *, door: bool = False) -> str:
    """The script as it is run. `rung` is the default backend, None to keep the script's own (a custom one).

    Raises RefusedError for a text that cannot be it: does not parse or compile, names something that is not there, or
    never uses torch.compile (unless it fails in another `door`).
    """
    try:
        with quiet():
            compile(script.text, "repro.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"not valid Python: {error}") from None
    missing = undefined(script)
    if missing:
        raise RefusedError(f"nothing defines {min(missing)}")
    uses = list(compile_uses(script))
    comment = "".join(f"# {line}".rstrip() + "\n" for line in header.strip().splitlines())
    if not uses:
        if door:
            return comment + script.text
        raise RefusedError("it does not use torch.compile")
    body = Script(script.replaced([_with_backend(script, use, rung) for use in uses]))
    return comment + (body.text if "os" in bound_globals(body) else _import_os(body))


def compile_uses(script: Script) -> list[ast.Call | ast.Attribute]:
    """Every `torch.compile(...)`, `module.compile(...)`, `partial(torch.compile, ...)` and bare decorator."""
    modules = {
        alias.asname or alias.name.split(".")[0]
        for node in script.nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] != "torch"
    }
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


def is_partial(node: ast.Call) -> bool:
    """`functools.partial(torch.compile, ...)`, a usual way to write a decorator with arguments."""
    return bool(node.args) and is_torch_compile(node.args[0]) and ast.unparse(node.func).split(".")[-1] == "partial"


def plain(text: str, rung: str | None) -> str:
    """The text without the backends that are put in when it is run: where `rung` is None the script's own stays."""
    if rung is None:
        return text
    script = Script(text)
    dropped = {"backend", *(() if knows_modes(rung) else INDUCTORS)}
    edits = [
        without_argument(script, use, keyword)
        for use in compile_uses(script)
        if isinstance(use, ast.Call)
        for keyword in use.keywords
        if keyword.arg in dropped
    ]
    return script.replaced(merged(edits))


def without_argument(script: Script, call: ast.Call | ast.ClassDef, argument: ast.AST) -> Edit:
    """The edit that takes one argument of a call away, with its comma."""
    items: list[ast.AST] = [*(call.args if isinstance(call, ast.Call) else call.bases), *call.keywords]
    items.sort(key=lambda item: script.span(item)[0])
    index = items.index(argument)
    start, end = script.span(argument)
    if index:
        return Edit(script.span(items[index - 1])[1], end)
    if len(items) > 1:
        return Edit(start, script.span(items[1])[0])
    close = script.text.index(")", end)
    return Edit(start, close) if script.text[end:close].strip(" ,\n") == "" else Edit(start, end)


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


def merged(edits: list[Edit]) -> list[Edit]:
    """Deletions that touch, as one."""
    joined: list[Edit] = []
    for edit in sorted(edits):
        if joined and edit.start <= joined[-1].end and not edit.text and not joined[-1].text:
            joined[-1] = Edit(joined[-1].start, max(edit.end, joined[-1].end))
        else:
            joined.append(edit)
    return joined


def _with_backend(script: Script, use: ast.Call | ast.Attribute, rung: str | None) -> Edit:
    default = f'"{rung or DEFAULT_BACKEND}"'
    if isinstance(use, ast.Attribute):
        end = script.span(use)[1]
        return Edit(end, end, f'(backend=os.environ.get("{VARIABLE}", {default}))')
    own = next((item for item in use.keywords if item.arg == "backend"), None)
    if own is not None:
        start, end = script.span(own.value)
        told = script.text[start:end]
        if VARIABLE in told:
            return Edit(start, end, told)
        return Edit(start, end, f'os.environ.get("{VARIABLE}", {told if rung is None else default})')
    told = f'backend=os.environ.get("{VARIABLE}", {default})'
    spread = next((item for item in reversed(use.keywords) if item.arg is None), None)
    if spread is not None:  # it may hold a backend
        start, end = script.span(spread.value)
        return Edit(start, end, "{**" + script.text[start:end] + f', "backend": {told.partition("=")[2]}' + "}")
    place, last = last_token(script, use)
    return Edit(place, place, {"(": "", ",": " "}.get(last, ", ") + told)


def last_token(script: Script, call: ast.Call) -> tuple[int, str]:
    """Where the last token before a call's closing parenthesis ends, and that token: below it there may be comments."""
    source = Script(f"({script.source(call)})")
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    last = [item for item in tokens if item.type not in _LAYOUT][-3]
    line, column = last.end
    return script.span(call)[0] + source.offset(line, 0) + column - 1, last.string


def _import_os(script: Script) -> str:
    """`import os` above the first import (or statement), below the docstring and `from __future__`."""
    place = next(
        (
            statement
            for statement in script.tree.body
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
            and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
        ),
        script.tree.body[-1],
    )
    start = script.offset(script.first_line(place), 0)
    return f"{script.text[:start]}import os\n{script.text[start:]}"
