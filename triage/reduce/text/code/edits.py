"""Edits: those that take a statement or an argument away, and which of several go together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

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
    if len(items) > 1:
        return without_item(list(map(script.span, items)), items.index(argument))
    start, end = script.span(argument)
    close = script.text.index(")", end)
    return Edit(start, close) if script.text[end:close].strip(" ,\n") == "" else Edit(start, end)


def without_item(places: Sequence[tuple[int, int]], index: int) -> Edit:
    """The edit that takes one of the things between commas away, with its comma."""
    start, end = places[index]
    if index:
        return Edit(places[index - 1][1], end)
    return Edit(start, places[1][0] if len(places) > 1 else end)


def without_bases(script: Script, item: ast.AST) -> Edit:
    """The edit that takes away the only thing in a class's parentheses, and these."""
    start, end = script.span(item)
    return Edit(script.text.rindex("(", 0, start), script.text.index(")", end) + 1)


def without_decorator(script: Script, mark: ast.expr) -> Edit:
    return Edit(script.offset(mark.lineno, 0), script.offset((mark.end_lineno or 0) + 1, 0))


def given_nothing(script: Script, call: ast.Call) -> Edit:
    """`f()` for `f(x)`."""
    return Edit(script.span(call.func)[1], script.span(call)[1], "()")


def importing(script: Script, node: ast.Import | ast.ImportFrom, kept: list[ast.alias]) -> Edit:
    """The edit that leaves these names of an import."""
    if not kept:
        return Edit(*script.lines_span(node))
    fewer = ast.Import(kept) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, kept, node.level)
    return Edit(*script.span(node), ast.unparse(fewer))


def outermost(edits: Iterable[Edit]) -> list[Edit]:
    """Without those within another: `Node(1, [Node(2)])` loses its second argument whole."""
    found: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if not found or edit.start >= found[-1].end:
            found.append(edit)
    return found


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
