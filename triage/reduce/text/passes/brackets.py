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
    pieces = [piece for statement, _ in script.statements() for piece in _pieces(statement)]
    edits = [edit for piece in pieces if (edit := _plainer(script, piece)) is not None]
    if edits and ast.dump(Script(script.replaced(edits)).tree) == ast.dump(script.tree):
        yield one(*edits)


def _pieces(statement: ast.stmt) -> list[ast.stmt | ast.expr]:
    """The statement, or the expressions in its head where blocks follow."""
    if not any(blocks_of(statement)):
        return [statement]
    if isinstance(statement, ast.With | ast.AsyncWith):
        return [item.context_expr for item in statement.items]
    heads = (getattr(statement, name, None) for name in ("test", "iter", "subject"))
    return [head for head in heads if isinstance(head, ast.expr)]


def _plainer(script: Script, piece: ast.stmt | ast.expr) -> Edit | None:
    """What has no comments or long texts as `ast.unparse` has it, where that is shorter and fits into a line."""
    source, told = script.source(piece), ast.unparse(piece)
    if "'" not in source and '"' not in told:
        told = told.replace("'", '"')
    fits = "\n" not in told and piece.col_offset + len(told) <= WIDEST
    long_text = any(mark in source for mark in ("#", '"""', "'''"))
    if long_text or not fits or len(told) >= len(source):
        return None
    return Edit(*script.span(piece), told)
