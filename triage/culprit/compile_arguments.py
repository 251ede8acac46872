"""The calls of torch.compile in a file of the program: another argument in them, all else to the letter."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from triage.culprit.ways_round.source import Source
from triage.model.rungs import INDUCTORS
from triage.reduce.text.code.compile_calls import compile_uses, last_token, option_taken_out
from triage.reduce.text.code.edits import without_argument
from triage.reduce.text.code.script import Edit

Use = ast.Call | ast.Attribute
_NOWHERE = Edit(-1, -1)


def uses_on(source: Source, lines: Collection[int]) -> tuple[Use, ...]:
    """The uses of torch.compile that begin on these lines, or go over them."""
    found = [use for use in compile_uses(source) if any(use.lineno <= line <= (use.end_lineno or 0) for line in lines)]
    return tuple(found)


def with_argument(source: Source, uses: Collection[Use], name: str, value: str | None) -> tuple[Edit, ...] | None:
    """`name=value` in each of them; a value of None takes the argument out. None where one of them has no place for it.

    Of `mode` and `options` torch takes one: the other goes where one is given.
    """
    found: list[Edit] = []
    for use in uses:
        edit = _edit(source, use, name, value)
        if edit is None:
            return None
        found += edit
    return tuple(found) or None


def without_option(source: Source, uses: Collection[Use], name: str) -> tuple[Edit, ...] | None:
    """Each of them without this one of its `options`. None where nothing of it is written there."""
    calls = [use for use in uses if isinstance(use, ast.Call)]
    if any(word.arg is None for call in calls for word in call.keywords):
        return None  # what is spread there may hold it
    found = [option_taken_out(source, call, name) for call in calls]
    return tuple(edit for edit in found if edit is not None) or None


def replaced_by(uses: Collection[Use], name: str) -> str | None:
    """The argument that `name` takes the place of in one of these uses, if it does in any."""
    found = (_other(use, name) for use in uses)
    return next((word.arg for word in found if word is not None), None)


def _other(use: Use, name: str) -> ast.keyword | None:
    """Of `mode` and `options` the one that is not `name`."""
    words = getattr(use, "keywords", ()) if name in INDUCTORS else ()
    return next((word for word in words if word.arg in INDUCTORS and word.arg != name), None)


def with_backend(source: Source, uses: Collection[Use], backend: str) -> tuple[Edit, ...] | None:
    """The same for the backend, without `mode` and `options`, which say something to Inductor only."""
    found: list[Edit] = []
    for use in uses:
        words = [each for each in getattr(use, "keywords", ()) if each.arg in ("backend", *INDUCTORS)]
        if not isinstance(use, ast.Call) or not words:
            found += _edit(source, use, "backend", f'"{backend}"') or [_NOWHERE]
            continue
        found.append(Edit(*source.span(words[0]), f'backend="{backend}"'))
        found += [without_argument(source, use, each) for each in words[1:]]
    return tuple(found) if found and _NOWHERE not in found else None


def without_fullgraph(source: Source, uses: Collection[Use]) -> Iterator[Edit]:
    """`fullgraph=False` for each that asks for one graph: then a part of it may run uncompiled."""
    for use in uses:
        for word in use.keywords if isinstance(use, ast.Call) else ():
            if word.arg == "fullgraph" and not (isinstance(word.value, ast.Constant) and word.value.value is False):
                yield Edit(*source.span(word.value), "False")


def _edit(source: Source, use: Use, name: str, value: str | None) -> list[Edit] | None:
    if isinstance(use, ast.Attribute):  # a decorator without parentheses
        end = source.span(use)[1]
        return [] if value is None else [Edit(end, end, f"({name}={value})")]
    own = next((word for word in use.keywords if word.arg == name), None)
    if own is not None:
        return [without_argument(source, use, own) if value is None else Edit(*source.span(own.value), value)]
    if value is None:
        return []
    if (other := _other(use, name)) is not None:
        return [Edit(*source.span(other), f"{name}={value}")]
    if any(word.arg is None for word in use.keywords):
        return None  # what is spread there may hold it
    place, last = last_token(source, use)
    return [Edit(place, place, {"(": "", ",": " "}.get(last, ", ") + f"{name}={value}")]
