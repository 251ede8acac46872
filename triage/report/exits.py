"""Where a program ended itself with words of its own: no traceback is left of that, but the words stand in its text. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from triage.model.outcome import Frame, Outcome
from triage.model.syntax import parse

_SAID = re.compile(r"exit status \d+: (.+)", re.DOTALL)  # as `probe/interpret.py` tells what a bare exit printed last
_EXITS = ("SystemExit", "exit", "quit")
_VALUE = "\0"  # in the place of what an f-string fills in
SHORTEST_TELLING = 7  # letters: fewer may stand in any text


def exit_line(outcome: Outcome, source: str, file: str) -> Frame | None:
    """The one `raise SystemExit(...)` or `sys.exit(...)` of the text that says what was printed last; None where several do."""
    error = outcome.exception
    said = _SAID.match(error.message) if error is not None and error.type == "SystemExit" and not error.frames else None
    if said is None:
        return None
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return None
    found = {call.lineno for call, words in _exits(tree) if re.fullmatch(words, said.group(1).strip())}
    if len(found) != 1:
        return None
    line = found.pop()
    return Frame(file, line, _function(tree, line), source.splitlines()[line - 1].strip())


def _exits(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """The calls that end a program with words, each with the pattern of their last line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        lines = _words(node.args[0]).strip().splitlines() if called in _EXITS else []
        if lines and len(re.findall(r"[^\W\d_]", lines[-1])) >= SHORTEST_TELLING:
            yield node, ".*".join(map(re.escape, lines[-1].split(_VALUE)))


def _words(node: ast.expr) -> str:
    """The text of a string or an f-string; empty where it is something else."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    values = [part.value if isinstance(part, ast.Constant) else _VALUE for part in parts]
    words = [value for value in values if isinstance(value, str)]
    return "".join(words) if len(words) == len(values) else ""


def _function(tree: ast.AST, line: int) -> str:
    """The innermost function around the line, as a traceback names it."""
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    around = [node for node in around if node.lineno <= line <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno).name if around else "<module>"
