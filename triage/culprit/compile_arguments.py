"""The calls of torch.compile in a script: another argument in them, all else to the letter."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from triage.model.rungs import INDUCTORS
from triage.reduce.text.code.compile_calls import compile_uses, last_token, literal_options, option_taken_out
from triage.reduce.text.code.edits import without_argument
from triage.reduce.text.code.script import Edit, Script

Use = ast.Call | ast.Attribute
_NOWHERE = Edit(-1, -1)


def uses_on(script: Script, lines: Collection[int]) -> tuple[Use, ...]:
    """The uses of torch.compile that begin on these lines, or go over them."""
    found = [use for use in compile_uses(script) if any(use.lineno <= line <= (use.end_lineno or 0) for line in lines)]
    return tuple(found)


def asks_one_graph(uses: Collection[Use]) -> bool:
    """Whether one of them is given `fullgraph=True`."""
    words = (word for use in uses for word in getattr(use, "keywords", ()) if word.arg == "fullgraph")
    return any(isinstance(word.value, ast.Constant) and word.value.value is True for word in words)


def options_of(uses: Collection[Use]) -> tuple[str, ...] | None:
    """The names of the options that they are given, where they are written out; None where none is given any."""
    given = [word.value for use in uses for word in getattr(use, "keywords", ()) if word.arg == "options"]
    return tuple(dict.fromkeys(name for each in given for name in literal_options(each) or ())) if given else None


def with_argument(script: Script, uses: Collection[Use], name: str, value: str | None) -> tuple[Edit, ...] | None:
    """`name=value` in each of them; a value of None takes the argument out. None where one of them has no place for it.

    Of `mode` and `options` torch takes one: the other goes where one is given.
    """
    found: list[Edit] = []
    for use in uses:
        edit = _edit(script, use, name, value)
        if edit is None:
            return None
        found += edit
    return tuple(found)


def without_option(script: Script, uses: Collection[Use], name: str) -> tuple[Edit, ...] | None:
    """Each of them without this one of its `options`. None where nothing of it is written there."""
    calls = [use for use in uses if isinstance(use, ast.Call)]
    if any(word.arg is None for call in calls for word in call.keywords):
        return None  # what is spread there may hold it
    found = [option_taken_out(script, call, name) for call in calls]
    return tuple(edit for edit in found if edit is not None) or None


def replaced_by(uses: Collection[Use], name: str) -> str | None:
    """The argument that `name` takes the place of in one of these uses, if it does in any."""
    found = (_other(use, name) for use in uses)
    return next((word.arg for word in found if word is not None), None)


def _other(use: Use, name: str) -> ast.keyword | None:
    """Of `mode` and `options` the one that is not `name`."""
    words = getattr(use, "keywords", ()) if name in INDUCTORS else ()
    return next((word for word in words if word.arg in INDUCTORS and word.arg != name), None)


def with_backend(script: Script, uses: Collection[Use], backend: str) -> tuple[Edit, ...] | None:
    """The same for the backend, without `mode` and `options`, which say something to Inductor only."""
    found: list[Edit] = []
    for use in uses:
        words = [each for each in getattr(use, "keywords", ()) if each.arg in ("backend", *INDUCTORS)]
        if not isinstance(use, ast.Call) or not words:
            found += _edit(script, use, "backend", f'"{backend}"') or [_NOWHERE]
            continue
        found.append(Edit(*script.span(words[0]), f'backend="{backend}"'))
        found += [without_argument(script, use, each) for each in words[1:]]
    return tuple(found) if found and _NOWHERE not in found else None


def without_fullgraph(script: Script, uses: Collection[Use]) -> Iterator[Edit]:
    """`fullgraph=False` for each that asks for one graph: then a part of it may run uncompiled."""
    for use in uses:
        for word in use.keywords if isinstance(use, ast.Call) else ():
            if word.arg == "fullgraph" and not (isinstance(word.value, ast.Constant) and word.value.value is False):
                yield Edit(*script.span(word.value), "False")


def _edit(script: Script, use: Use, name: str, value: str | None) -> list[Edit] | None:
    if isinstance(use, ast.Attribute):  # a decorator without parentheses
        end = script.span(use)[1]
        return [] if value is None else [Edit(end, end, f"({name}={value})")]
    own = next((word for word in use.keywords if word.arg == name), None)
    if own is not None:
        return [without_argument(script, use, own) if value is None else Edit(*script.span(own.value), value)]
    if value is None:
        return []
    if (other := _other(use, name)) is not None:
        return [Edit(*script.span(other), f"{name}={value}")]
    if any(word.arg is None for word in use.keywords):
        return None  # what is spread there may hold it
    place, last = last_token(script, use)
    return [Edit(place, place, {"(": "", ",": " "}.get(last, ", ") + f"{name}={value}")]
