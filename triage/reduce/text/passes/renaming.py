"""Short, usual names in place of long ones: f, g for functions, M for classes, x, y for values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import KNOWN, Occurrence, Occurrences, Scope
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

_FUNCTIONS = ("f", "g", "h", "fn", "fn2", "fn3")
_CLASSES = ("M", "A", "B", "C", "D")
_VALUES = ("x", "y", "z", "a", "b", "c", "d", "t", "u", "v", "w")
LONG = 6
PLAIN = frozenset({"compiled", "weight", "target", "logits", "hidden"})  # as usual as short ones


def propose(script: Script) -> Iterator[Choice]:
    """A choice per long name that the script itself gives; attributes and what is imported keep theirs."""
    seen = Occurrences(script)
    taken = seen.everywhere() | KNOWN
    taken |= {
        keyword.arg for node in script.nodes if isinstance(node, ast.Call) for keyword in node.keywords if keyword.arg
    }
    for scope in seen.scopes:
        if isinstance(scope.node, ast.ClassDef):
            continue
        for name in seen.names(scope):
            places = seen.of(name, scope)
            new = _new_name(places, scope, taken) if len(name) >= LONG and name not in PLAIN else None
            if new is not None:
                taken.add(new)
                yield one(*(Edit(place.start, place.end, new) for place in places))


def _new_name(places: list[Occurrence], scope: Scope, taken: set[str]) -> str | None:
    """None for what is not the script's own, or stands where we cannot see it."""
    binding = [place.node for place in places if place.binds]
    if not binding or not all(place.placed for place in places):
        return None
    was_method = isinstance(binding[0], ast.FunctionDef) and isinstance(scope.node, ast.Module)
    if places[0].name.startswith("__") and not was_method:
        return None
    if any(isinstance(node, ast.alias) for node in binding):
        return None
    kinds: tuple[str, ...] = ("compiled",) if places[0].name.startswith("compiled") else _VALUES
    if isinstance(binding[0], ast.FunctionDef | ast.AsyncFunctionDef):
        kinds = _FUNCTIONS
    elif isinstance(binding[0], ast.ClassDef):
        kinds = _CLASSES
    return next((name for name in kinds if name not in taken), None)
