"""Statements taken away, level by level: the large ones at the top first, later ones before those they depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.script import Script
from triage.reduce.text.passes.choice import Choice, one


def at_depth(script: Script, depth: int) -> list[Choice]:
    """A choice per statement at this depth, the last statement first. Empty below the deepest level."""
    found = [statement for statement, at in script.statements() if at == depth and not isinstance(statement, ast.Pass)]
    return [one(deletion(script, statement)) for statement in reversed(found)]


def depths(script: Script) -> int:
    return max((depth for _, depth in script.statements()), default=-1) + 1


def runs(script: Script) -> Iterator[Choice]:
    """A value that is built in several statements goes with all of them: a name's bindings together with its uses."""
    seen = Occurrences(script)
    body = [statement for statement, _ in script.statements()]
    for scope in seen.scopes:
        for name in seen.names(scope):
            holding = {script.statement_of(place.node) for place in seen.of(name, scope)}
            if 1 < len(holding) < len(body):
                whole = [item for item in body if item in holding and holding.isdisjoint(script.above(item))]
                yield one(*(deletion(script, item) for item in whole))
