"""The form in which a candidate is run and reported (see the contract's `repro.py`).

One comment on top, and a backend that `TORCH_COMPILE_BACKEND` can change in every use of `torch.compile`. The passes work
on the text without that: so nothing of it can be reduced away, and what is run is, to the letter, what the report prints.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from triage.judge.judgement import RefusedError
from triage.model.rungs import DEFAULT_BACKEND, INDUCTORS, knows_modes
from triage.reduce.text.code.compile_calls import compile_uses, last_token
from triage.reduce.text.code.edits import merged, without_argument
from triage.reduce.text.code.names import bound_globals, undefined
from triage.reduce.text.code.nodes import is_bare_constant, is_future
from triage.reduce.text.code.script import Edit, Script, quiet

VARIABLE = "TORCH_COMPILE_BACKEND"
_OPTIONS = ("fullgraph", "dynamic", "mode", "options", "disable")  # and `backend`, which is set here


def shaped(script: Script, rung: str | None, header: str, *, door: bool = False) -> str:
    """The script as it is run. `rung` is the default backend, None to keep the script's own (a custom one).

    Raises RefusedError for a text that cannot be it: does not parse or compile, names something that is not there, or
    never uses torch.compile (unless it fails in another `door`).
    """
    uses = list(compile_uses(runnable(script)))
    comment = "".join(f"# {line}".rstrip() + "\n" for line in header.strip().splitlines())
    if not uses:
        if door:
            return comment + script.text
        raise RefusedError("it does not use torch.compile")
    edits = [_with_backend(script, use, rung) for use in uses]
    edits += [edit for use in uses if rung is None for edit in _told_to_no_other(script, use)]
    body = Script(script.replaced(edits))
    needed = ["os", *(["functools"] if _given_more_later(script, uses) else [])]
    lacking = [name for name in needed if name not in bound_globals(body)]
    return comment + (_importing(body, lacking) if lacking else body.text)


def runnable(script: Script) -> Script:
    """The same. Raises RefusedError for what does not compile, or names something that is not there: so it costs no query."""
    try:
        with quiet():
            compile(script.text, "repro.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"not valid Python: {error}") from None
    missing = undefined(script)
    if missing:
        raise RefusedError(f"nothing defines {min(missing)}")
    return script


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


def _with_backend(script: Script, use: ast.Call | ast.Attribute, rung: str | None) -> Edit:
    default = f'"{rung or DEFAULT_BACKEND}"'
    if isinstance(use, ast.Attribute):
        start, end = script.span(use)
        if _given_more_later(script, [use]):
            return Edit(
                start, end, f'functools.partial(torch.compile, backend=os.environ.get("{VARIABLE}", {default}))'
            )
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


def _given_more_later(script: Script, uses: Sequence[ast.Call | ast.Attribute]) -> bool:
    """Whether one of them is a value (`wrap = torch.compile`), and what may be a call of it gives more than what to compile.

    `torch.compile(backend=...)`, which takes no more than that, cannot stand for it.
    """
    values = [use for use in uses if isinstance(use, ast.Attribute)]
    if all(use in getattr(script.parents[use], "decorator_list", ()) for use in values):
        return False
    compiling = compile_uses(script)
    words = {word.arg for call in script.calls if call not in compiling for word in call.keywords}
    return not words.isdisjoint(_OPTIONS)


def _told_to_no_other(script: Script, use: ast.Call | ast.Attribute) -> Iterator[Edit]:
    """`options=` and `mode=` of a backend of the script's own mean nothing to the one that is put in its place."""
    for word in use.keywords if isinstance(use, ast.Call) else ():
        if word.arg in INDUCTORS and VARIABLE not in script.source(word.value):
            start, _ = script.span(word.value)
            yield Edit(start, start, f'None if "{VARIABLE}" in os.environ else ')


def _importing(script: Script, modules: Sequence[str]) -> str:
    """Their imports above the first one (or statement), below the docstring and `from __future__`."""
    place = next(
        (statement for statement in script.tree.body if not is_bare_constant(statement) and not is_future(statement)),
        script.tree.body[-1],
    )
    start = script.offset(script.first_line(place), 0)
    added = "".join(f"import {module}\n" for module in modules)
    return f"{script.text[:start]}{added}{script.text[start:]}"
