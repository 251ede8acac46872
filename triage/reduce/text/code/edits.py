"""Edits: those that take a statement or an argument away, and which of several go together."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from triage.reduce.text.code.script import Edit, Script


def deletion(script: Script, statement: ast.stmt) -> Edit:
    """The edit that takes a statement away (it leaves a `pass`, which `tidy` takes away where it can)."""
    start, end = script.lines_span(statement)
    if is_elif(script, statement):
        start = script.offset(statement.lineno, 0)
        return Edit(start, end, "")
    return Edit(start, end, f"{script.indent(statement)}pass\n")


def is_elif(script: Script, statement: ast.stmt) -> bool:
    """Whether this `if` is written `elif`: it stands where its parent's `else` would."""
    parent = script.parents[statement]
    if not isinstance(statement, ast.If) or not isinstance(parent, ast.If) or statement not in parent.orelse:
        return False
    start = script.span(statement)[0]
    return script.text[start : start + 4] == "elif"


def without_argument(script: Script, call: ast.Call | ast.ClassDef, argument: ast.AST) -> Edit:
    """The edit that takes one argument of a call away, with its comma."""
    items: list[ast.AST] = [*(call.args if isinstance(call, ast.Call) else call.bases), *call.keywords]
    items.sort(key=lambda item: script.span(item)[0])
    index = items.index(argument)
    start, end = script.span(argument)
    if index:
        return Edit(script.span(items[index - 1])[1], end)
    if len(items) > 1:
        return Edit(start, script.span(items[1])[0])
    close = script.text.index(")", end)
    return Edit(start, close) if script.text[end:close].strip(" ,\n") == "" else Edit(start, end)


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters (two insertions at one place do)."""
    if one.start == one.end == other.start == other.end:
        return True
    return one.start < other.end and other.start < one.end


def compatible(edits: Iterable[Edit], others: Iterable[Edit]) -> bool:
    known = list(others)
    return not any(overlap(edit, other) for edit in edits for other in known)


def merged(edits: list[Edit]) -> list[Edit]:
    """Deletions that touch, as one."""
    joined: list[Edit] = []
    for edit in sorted(edits):
        if joined and edit.start <= joined[-1].end and not edit.text and not joined[-1].text:
            joined[-1] = Edit(joined[-1].start, max(edit.end, joined[-1].end))
        else:
            joined.append(edit)
    return joined
