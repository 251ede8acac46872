"""The failing line by itself: a function that does nothing else, called on what its names stood for.

The compiler names the line that it cannot take. In most programs that line, or the statement it belongs to, fails alone:
then there is nothing left to reduce of what led to it. Where it does not, what comes after it is never reached.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triage.model.outcome import Frame
from triage.reduce.text.code.edits import deletion, outermost
from triage.reduce.text.code.names import bound_globals
from triage.reduce.text.code.script import BLOCKS, Definition, Edit, Script, reindent
from triage.reduce.text.code.tidy import tidy

_NAMES = ("f", "fn", "failing")


@dataclass(frozen=True)
class Place:
    """Where a statement stands: the definitions around it, outermost first, and the way down in the innermost of them.

    A step is the name of a statement list and an index, or that of a handler or case. It stays the same when statements
    become `pass`, and when names change.
    """

    definitions: tuple[str, ...]
    steps: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class StatementFunction:
    """A function of one statement. `needs` are names of the module, `parameters` those that were local."""

    name: str
    text: str
    parameters: tuple[str, ...]
    needs: frozenset[str]


def place_of(script: Script, function: str, line: int) -> Place | None:
    """The innermost statement of a function of that name that has this line."""
    around: list[str] = []
    steps: list[tuple[str, int]] = []
    node: ast.AST = script.tree
    while True:
        below = next(((field, index, item) for field, index, item in _parts(node) if _has(script, item, line)), None)
        if below is None:
            break
        field, index, node = below
        if isinstance(node, Definition):
            around, steps = [*around, node.name], []
        else:
            steps.append((field, index))
    return Place(tuple(around), tuple(steps)) if steps and around and around[-1] == function else None


def statement_at(script: Script, place: Place) -> ast.stmt | None:
    """The statement at a place, if the definitions around it have these names and it is still there."""
    node: ast.AST = script.tree
    for name in place.definitions:
        found = [item for item in _within(node) if isinstance(item, Definition) and item.name == name]
        if len(found) != 1:
            return None
        node = found[0]
    for field, index in place.steps:
        block = getattr(node, field, [])
        if index >= len(block):
            return None
        node = block[index]
    return node if isinstance(node, ast.stmt) and not isinstance(node, ast.Pass) else None


def without_its_body(script: Script, place: Place) -> Script | None:
    """The script with nothing below the `with`, `if` or loop at a place: where its own line fails, the rest is not reached."""
    statement = statement_at(script, place)
    if not isinstance(statement, ast.If | ast.For | ast.While | ast.With):
        return None
    nothing = "break" if isinstance(statement, ast.While) else "pass"
    head, rest = script.text[: script.lines_span(statement.body[0])[0]], script.text[script.lines_span(statement)[1] :]
    return Script(f"{head}{script.indent(statement)}    {nothing}\n{rest}")


def as_function(script: Script, statement: ast.stmt, known: Sequence[str]) -> StatementFunction | None:
    """The statement in a function of its own; None where it cannot be: it yields, or belongs to a class.

    `known` are the local names that can be given.
    """
    nodes = list(ast.walk(statement))
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.Nonlocal | ast.Global) for node in nodes):
        return None
    named = [node for node in nodes if isinstance(node, ast.Name)]
    if any(node.id in ("super", "__class__") for node in named):
        return None
    bound = bound_globals(script)
    changed = {node for node in named if isinstance(script.parents.get(node), ast.AugAssign)}
    read = dict.fromkeys(node.id for node in named if isinstance(node.ctx, ast.Load) or node in changed)
    parameters = tuple(name for name in read if name in known)
    name = next((name for name in _NAMES if name not in bound and name not in read), None)
    if name is None:
        return None
    start, end = script.lines_span(statement)
    body = reindent(script.text[start:end], script.indent(statement), "    ")
    text = f"def {name}({', '.join(parameters)}):\n{body}"
    return StatementFunction(name, text, parameters, frozenset(read) - set(parameters))


def without_the_rest(script: Script, frames: Sequence[Frame]) -> Script:
    """The failing functions without what stands below the lines that fail: the compiler never came there.

    They are found by name and by the text of the line, as the script is no longer the program that these frames are of.
    """
    edits: list[Edit] = []
    for frame in frames:
        for node in script.nodes:
            if isinstance(node, ast.FunctionDef) and node.name == frame.function:
                edits += _below(script, node, (frame.code or "").strip())
    return Script(tidy(script.replaced(outermost(edits))))


def _below(script: Script, function: ast.FunctionDef, code: str) -> Iterator[Edit]:
    lines = script.text.splitlines()
    found = [n for n in range(function.lineno + 1, (function.end_lineno or 0) + 1) if lines[n - 1].strip() == code]
    node: ast.AST | None = function if found and code else None  # of several alike the first is met first
    while node is not None:
        below = None
        for field, index, item in _parts(node):
            if _has(script, item, found[0]):
                below = item
                rest = getattr(node, field)[index + 1 :]
                yield from (deletion(script, late) for late in rest if isinstance(late, ast.stmt))
        node = below


def _parts(node: ast.AST) -> Iterator[tuple[str, int, ast.AST]]:
    for field in (*BLOCKS, "handlers", "cases"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            for index, item in enumerate(block):
                yield field, index, item


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Statements of a node's own scope."""
    for _, _, item in _parts(node):
        yield item
        if not isinstance(item, Definition):
            yield from _within(item)


def _has(script: Script, node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return any(_has(script, item, line) for item in node.body)
    first = script.first_line(node) if isinstance(node, ast.stmt) else node.lineno  # type: ignore[attr-defined]
    return bool(first <= line <= node.end_lineno)  # type: ignore[attr-defined]
