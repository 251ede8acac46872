"""What a reduced program does, without what it calls things: are two of them one construct?

Of a failure that only a check of the program's own shows, and for which no operation is to blame (a side effect that is lost, a
missing guard), neither the message nor a line of torch tells which bug it is. What is left after the reduction does.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from difflib import SequenceMatcher

from triage.model.syntax import parse

Outline = tuple[str, ...]

# Two faces of one such bug agree in 0.93 (a list, a dict) and 1.0, programs of different bugs in 0.27 to 0.59 (six programs).
ALIKE = 0.8
LEAST = 40  # parts; below that all programs look alike


def outline_of(source: str) -> Outline:
    """The kinds of its statements and expressions, from top to bottom, and names that are Python's own.

    Empty where it is no program.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return ()
    return tuple(part for statement in tree.body for part in _parts(statement))


def alike(left: Outline, right: Outline) -> bool:
    """Whether most of the two agrees."""
    if min(len(left), len(right)) < LEAST:
        return False
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= ALIKE


def _parts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.expr_context)):
        return
    yield node.id if isinstance(node, ast.Name) and hasattr(builtins, node.id) else type(node).__name__
    for child in ast.iter_child_nodes(node):
        yield from _parts(child)
