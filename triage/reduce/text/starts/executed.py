"""The first cut: what was never executed up to the failure goes, in one step."""

from __future__ import annotations

import ast
import enum
from collections.abc import Collection

from triage.reduce.printing.kernels import is_registered
from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import undefined
from triage.reduce.text.code.nodes import names_within
from triage.reduce.text.code.script import Edit, Function, Script, blocks_of

# Statements that have no line of their own in the bytecode, or none that is sure to be told.
_SILENT = (ast.Global, ast.Nonlocal, ast.Pass, ast.Import, ast.ImportFrom, ast.AnnAssign)


class Cut(enum.Enum):
    """What of that goes: all; what stands in no function (compiled, those may go another way); nothing."""

    EVERYWHERE = "everywhere"
    OUTSIDE = "outside of functions"
    NOWHERE = "nowhere"


def executed_part(text: str, lines: Collection[int], cut: Cut = Cut.EVERYWHERE) -> str:
    """The text without the statements of which no line was executed; each leaves a `pass`.

    What is registered for an operator stays whole: the run that was watched was uncompiled, and calls no fake.
    Where such a statement alone binds a name that is read elsewhere, it leaves `name = None`: the name stays a local one.
    """
    script = Script(text)
    gone: list[ast.stmt] = []
    if cut is not Cut.NOWHERE:
        _cut(script, script.tree.body, frozenset(lines), gone, cut)
    edits = {statement: deletion(script, statement) for statement in gone}
    missing = undefined(Script(script.replaced(edits.values()))) - undefined(script) if gone else frozenset()
    for statement in gone if missing else ():
        bound = names_within(statement) & missing
        if bound and edits[statement].text:
            left = f"{script.indent(statement)}{' = '.join(sorted(bound))} = None\n"
            edits[statement] = Edit(edits[statement].start, edits[statement].end, left)
        elif bound:  # an `elif`
            del edits[statement]
    return script.replaced(edits.values())


def _cut(script: Script, block: list[ast.stmt], lines: frozenset[int], gone: list[ast.stmt], cut: Cut) -> None:
    for statement in block:
        if isinstance(statement, _SILENT) or (cut is Cut.OUTSIDE and isinstance(statement, Function)):
            continue
        first, last = script.first_line(statement), statement.end_lineno or statement.lineno
        if lines.isdisjoint(range(first, last + 1)):
            gone.append(statement)
            continue
        if isinstance(statement, ast.FunctionDef) and is_registered(statement):
            continue
        for inner in blocks_of(statement):
            _cut(script, inner, lines, gone, cut)
