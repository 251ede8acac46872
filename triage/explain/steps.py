"""The function of the program's that is its step, marked in the program's own text: a line before its `def`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from triage.model.syntax import parse

MARK = b"@__import__('_triage_agent.hooks.turns', fromlist=['step']).step"


def marked(texts: Iterable[tuple[Path, bytes]], name: str) -> dict[Path, bytes]:
    """The file in which this function (`step`, `Trainer.step`) is defined, with the mark; the first of them that has it.

    Raises KeyError where no file has it. Nothing else moves to another line: the mark stands on the line of the `def` or of its
    first decorator, with which it cannot share one, so what follows is one line further down.
    """
    for path, text in texts:
        line = _line_of(text, name)
        if line is not None:
            lines = text.splitlines(keepends=True)
            indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
            return {path: b"".join((*lines[:line], indent, MARK, b"\n", *lines[line:]))}
    raise KeyError(name)


def _line_of(text: bytes, name: str) -> int | None:
    """The index of the line at which the function begins, with its decorators; None where there is none."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return None
    every = _functions(tree, name.split("."))
    found = min(every, key=lambda each: (each.col_offset, each.lineno), default=None)  # the outermost of that name
    if found is None:
        return None
    return min(found.lineno, *(each.lineno for each in found.decorator_list), found.lineno) - 1


def _functions(node: ast.AST, names: list[str]) -> list[ast.FunctionDef]:
    found: list[ast.FunctionDef] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and names == [child.name]:
            found.append(child)
        elif isinstance(child, (ast.ClassDef, ast.FunctionDef)) and names[0] == child.name:
            found += _functions(child, names[1:])
        if len(names) == 1 or not isinstance(child, (ast.ClassDef, ast.FunctionDef)):
            found += _functions(child, names)
    return found
