"""The values of a command line, in place of the parser that reads it.

A candidate is run without arguments, or with those that stand in its text: what `parse_args` gives there can be told from
the calls that make the parser, where these are plain.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from triage.model.syntax import last_name
from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import Occurrences, text_for
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice

_TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}
_PLAIN = (int, float, str, bool, type(None))
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
_SHOWN_ONLY = frozenset({"help", "metavar", "choices", "required"})


def propose(script: Script) -> Iterator[Choice]:
    """Each option where it is read, else a namespace where the parser stood."""
    seen = Occurrences(script)
    for call in script.calls:
        parser = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "parse_args" else None
        if not isinstance(parser, ast.Name) or call.args or call.keywords:
            continue
        made = _statements(script, parser.id, call)
        values = _values(script, made) if made else None
        if values is None:
            continue
        gone = [deletion(script, statement) for statement in made]
        found = [read] if (read := _read(script, seen, call, values)) is not None else []
        kind = made[0].value.func  # type: ignore[attr-defined]
        if isinstance(kind, ast.Attribute):
            told = ", ".join(f"{name}={value}" for name, value in values.items())
            found.append([Edit(*script.span(call), f"{script.source(kind.value)}.Namespace({told})")])
        yield Choice(tuple((*gone, *edits) for edits in found))


@dataclass(frozen=True)
class _Text:
    """A value that only the program can compute."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _statements(script: Script, parser: str, parsing: ast.Call) -> list[ast.stmt]:
    """Those that make the parser; none where something else is done with it."""
    known, found = {parser}, list[ast.stmt]()
    for node, _ in script.statements():
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        if not isinstance(value, ast.Call):
            continue
        of = value.func.value if isinstance(value.func, ast.Attribute) else None
        ours = isinstance(of, ast.Name) and of.id in known
        if isinstance(target, ast.Name) and target.id == parser and last_name(value.func) == "ArgumentParser":
            found.append(node)
        elif isinstance(target, ast.Name) and ours and last_name(value.func) in _GROUPS:
            known.add(target.id)
            found.append(node)
        elif target is None and ours and last_name(value.func) == "add_argument":
            found.append(node)
    places = [node for node in script.nodes if isinstance(node, ast.Name) and node.id in known]
    inside = {node for statement in found for node in ast.walk(statement)} | set(ast.walk(parsing))
    return found if found and all(place in inside for place in places) else []


def _values(script: Script, made: list[ast.stmt]) -> dict[str, str] | None:
    """What each option is, as text; None where that cannot be told."""
    parser = argparse.ArgumentParser(add_help=False)
    with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stderr(io.StringIO()):
        for statement in made:
            call = statement.value  # type: ignore[attr-defined]
            if last_name(call.func) == "add_argument":
                parser.add_argument(*map(ast.literal_eval, call.args), **_keywords(script, call))
        values = vars(parser.parse_args(_arguments(script)))
        return {name: repr(value) for name, value in values.items()}
    return None


def _keywords(script: Script, call: ast.Call) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in call.keywords:
        source = script.source(item.value)
        if item.arg is None:
            raise ValueError(source)
        if item.arg in _SHOWN_ONLY:
            continue
        if item.arg == "type":
            found["type"] = _TYPES.get(source) or partial(_converted, source)
        elif item.arg == "action" and last_name(item.value) == "BooleanOptionalAction":
            found["action"] = argparse.BooleanOptionalAction
        elif item.arg == "default":
            found["default"] = _default(item.value, source)
        else:
            found[item.arg] = ast.literal_eval(item.value)
    return found


def _converted(source: str, word: str) -> _Text:
    return _Text(f"{source}({word!r})")


def _default(value: ast.expr, source: str) -> Any:
    with contextlib.suppress(ValueError):
        plain = ast.literal_eval(value)
        return plain if isinstance(plain, _PLAIN) else _Text(source)
    return _Text(source)


def _arguments(script: Script) -> list[str]:
    """Those that the text gives itself."""
    for statement in script.tree.body:
        if isinstance(statement, ast.Assign) and script.source(statement.targets[0]) == "sys.argv[1:]":
            return list(ast.literal_eval(statement.value))
    return []


def _read(script: Script, seen: Occurrences, call: ast.Call, values: dict[str, str]) -> list[Edit] | None:
    """Each option where it is read, and no parsing; None where the options are used in another way."""
    above = script.parents[call]
    if isinstance(above, ast.Attribute):
        return [_filled(script, above, values)] if above.attr in values else None
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or not isinstance(above.targets[0], ast.Name):
        return None
    edits = [deletion(script, above)]
    for place in seen.of(above.targets[0].id, seen.owners[above.targets[0]]):
        if place.node is above.targets[0]:
            continue
        reading = script.parents[place.node]
        if not isinstance(reading, ast.Attribute) or not isinstance(reading.ctx, ast.Load) or not place.placed:
            return None
        if reading.attr not in values:
            return None
        edits.append(_filled(script, reading, values))
    return edits


def _filled(script: Script, reading: ast.Attribute, values: dict[str, str]) -> Edit:
    return Edit(*script.span(reading), text_for(script, reading, values[reading.attr]))
