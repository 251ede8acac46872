"""The first cut: what was never executed up to the failure goes, in one step."""

from __future__ import annotations

import ast
from collections.abc import Collection

from triage.reduce.source.script import Edit, Script
from triage.reduce.source.tidy import deletion

# Statements that have no line of their own in the bytecode, or none that is sure to be told.
_SILENT = (ast.Global, ast.Nonlocal, ast.Pass, ast.Import, ast.ImportFrom, ast.AnnAssign)


def executed_part(text: str, lines: Collection[int]) -> str:
    """The text without the statements of which no line was executed; each leaves a `pass`."""
    script = Script(text)
    edits: list[Edit] = []
    _cut(script, script.tree.body, frozenset(lines), edits)
    return script.replaced(edits)


def _cut(script: Script, block: list[ast.stmt], lines: frozenset[int], edits: list[Edit]) -> None:
    for statement in block:
        if isinstance(statement, _SILENT):
            continue
        first, last = script.first_line(statement), statement.end_lineno or statement.lineno
        if lines.isdisjoint(range(first, last + 1)):
            edits.append(deletion(script, statement))
            continue
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                _cut(script, inner, lines, edits)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            _cut(script, part.body, lines, edits)
