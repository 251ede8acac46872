"""What is left of brackets when their contents became short: lines that fit into one, a comma at the end, needless ones.

Nothing here changes what the text means: the syntax tree stays the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.script import Edit, Script, blocks_of
from triage.reduce.text.passes.choice import Choice, one

WIDEST = 100


def propose(script: Script) -> Iterator[Choice]:
    """All of it at once: it needs one query."""
    edits = [edit for statement, _ in script.statements() if (edit := _plainer(script, statement)) is not None]
    if edits and ast.dump(Script(script.replaced(edits)).tree) == ast.dump(script.tree):
        yield one(*edits)


def _plainer(script: Script, statement: ast.stmt) -> Edit | None:
    """What has no blocks, comments or long texts as `ast.unparse` has it, where that is shorter and fits into a line."""
    source, told = script.source(statement), ast.unparse(statement)
    if "'" not in source and '"' not in told:
        told = told.replace("'", '"')
    fits = "\n" not in told and statement.col_offset + len(told) <= WIDEST
    long_text = any(mark in source for mark in ("#", '"""', "'''"))
    if any(blocks_of(statement)) or long_text or not fits or len(told) >= len(source):
        return None
    return Edit(*script.span(statement), told)
