"""Where a program ended itself with words of its own: no traceback is left of that, but the words stand in its text. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from triage.model.outcome import Frame, Outcome
from triage.model.syntax import called_name, function_at, parse

_SAID = re.compile(r"exit status \d+: (.+)", re.DOTALL)  # as `probe/interpret.py` tells what a bare exit printed last
_EXITS = ("SystemExit", "exit", "quit")
_VALUE = "\0"  # in the place of what an f-string fills in
SHORTEST_TELLING = 7  # letters: fewer may stand in any text


def exit_line(outcome: Outcome, source: str, file: str) -> Frame | None:
    """The one call of the text that said what was printed last, and ended the program; None where several may have.

    It is `raise SystemExit("...")` or `sys.exit("...")`, or a `print` with an exit that has no words below it, or in the
    function that such an exit calls for its status.
    """
    error = outcome.exception
    said = _SAID.match(error.message) if error is not None and error.type == "SystemExit" and not error.frames else None
    if said is None:
        return None
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return None
    ending = [*_exits(tree), *_printed_before_exits(tree), *_printed_for_a_status(tree)]
    found, others = (_saying(calls, said.group(1).strip()) for calls in (ending, _prints(tree)))
    if len(found) != 1 or others - found:
        return None
    line = found.pop()
    return Frame(file, line, function_at(tree, line), source.splitlines()[line - 1].strip())


def _exits(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """The calls that end a program with words, each with the pattern of their last line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        pattern = _pattern(_words(node.args[0])) if called_name(node) in _EXITS else None
        if pattern is not None:
            yield node, pattern


def _printed_before_exits(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """The prints of each block that ends the program further down, also in loops, with the pattern of their last line."""
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            before: list[ast.AST] = []
            for statement in block if isinstance(block, list) else ():
                value = statement.exc if isinstance(statement, ast.Raise) else getattr(statement, "value", None)
                if (
                    isinstance(value, ast.Call)
                    and called_name(value) in _EXITS
                    and not any(map(_has_words, value.args))
                ):
                    yield from (each for printed in before for each in _prints(printed))
                elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    before.append(statement)


def _printed_for_a_status(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """The prints of the functions whose result is what an exit is given: `sys.exit(main())`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    given = [call.args[0] for call in calls if called_name(call) in _EXITS and len(call.args) == 1]
    asked = {value.func.id for value in given if isinstance(value, ast.Call) and isinstance(value.func, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in asked:
            yield from _prints(node)


def _prints(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) == "print":
            pattern = _pattern(" ".join(_words(each) or _VALUE for each in node.args))
            if pattern is not None and not any(word.arg in ("sep", "end") for word in node.keywords):
                yield node, pattern


def _saying(calls: Iterable[tuple[ast.Call, str]], said: str) -> set[int]:
    """The lines of those that may have said it."""
    return {call.lineno for call, words in calls if re.fullmatch(words, said)}


def _pattern(words: str) -> str | None:
    """A pattern of their last line; None where it may stand in any text."""
    last = next(iter(words.strip().splitlines()[-1:]), "")
    letters = re.findall(r"[^\W\d_]", last)
    return ".*".join(map(re.escape, last.split(_VALUE))) if len(letters) >= SHORTEST_TELLING else None


def _words(node: ast.expr) -> str:
    """The text of a string or an f-string; empty where it is something else."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    values = [part.value if isinstance(part, ast.Constant) else _VALUE for part in parts]
    words = [value for value in values if isinstance(value, str)]
    return "".join(words) if len(words) == len(values) else ""


def _has_words(node: ast.expr) -> bool:
    """Whether some of its text stands there: what is worked out may as well be a status."""
    return bool(_words(node).strip(_VALUE))
