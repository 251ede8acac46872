"""A script as text and as a tree at once: the candidate of this reducer.

Edits replace spans of the text, so comments and formatting of what stays are kept. Offsets are in characters of `text`
(the `ast` module counts UTF-8 bytes within lines). Every statement has lines of its own, which `readable` sees to.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from triage.model.syntax import parse
from triage.reduce.text.code.nodes import is_bare_constant, is_future
from triage.reduce.text.code.weight import weigh

BLOCKS = ("body", "orelse", "finalbody")
Block = list[ast.stmt]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What Python warns of in a candidate's text is no news: it stands in the person's program, or goes again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the characters from `start` up to `end` by `text`."""

    start: int
    end: int
    text: str = ""


@dataclass(frozen=True)
class Script:
    """A candidate. Raises SyntaxError where `tree` is asked of a text that does not parse."""

    text: str

    def key(self) -> str:
        return self.text

    def weight(self) -> tuple[float, ...]:
        return self._weight

    @cached_property
    def _weight(self) -> tuple[float, ...]:
        return weigh(self)

    @cached_property
    def tree(self) -> ast.Module:
        with quiet():
            return parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node, in the order of `ast.walk`: walked once, as most of what is done with a script asks for all."""
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around it, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that it stands in, or is."""
        return next(item for item in (node, *self.above(node)) if isinstance(item, ast.stmt))

    def in_fstring(self, node: ast.AST) -> bool:
        """Whether it is a part of an f-string."""
        return any(isinstance(above, ast.JoinedStr) for above in self.above(node))

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(map(len, self._lines))]

    def offset(self, line: int, column: int) -> int:
        """The character at a line (from 1) and a column in UTF-8 bytes."""
        if line > len(self._lines):
            return len(self.text)
        text = self._lines[line - 1]
        within = column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))
        return self._starts[line - 1] + within

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where an expression, argument or statement stands; a decorated definition without its decorators."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def first_line(self, node: ast.stmt) -> int:
        """The line a statement begins on, decorators included."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        return min([node.lineno, *(item.lineno for item in decorators)])

    def lines_span(self, node: ast.stmt) -> tuple[int, int]:
        """Its whole lines: decorators, the comment lines right above it, and the line break at the end."""
        first = self.first_line(node)
        while first > 1 and self._lines[first - 2].lstrip().startswith("#"):
            first -= 1
        last = node.end_lineno or node.lineno
        return self._starts[first - 1], self._starts[min(last, len(self._lines))]

    def indent(self, node: ast.stmt) -> str:
        line = self._lines[node.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def body_text(self, block: Block, indent: str) -> str:
        """The lines of a block, moved to another indentation."""
        start, end = self.lines_span(block[0])[0], self.lines_span(block[-1])[1]
        return reindent(self.text[start:end], self.indent(block[0]), indent)

    def replaced(self, edits: Iterable[Edit]) -> str:
        """The text with these edits, which must not overlap."""
        parts, place = [], 0
        for edit in sorted(edits):
            parts += [self.text[place : edit.start], edit.text]
            place = edit.end
        return "".join([*parts, self.text[place:]])

    def part(self, start: int, end: int, edits: Iterable[Edit]) -> str:
        """The text between two characters with these edits, which lie there."""
        return Script(self.text[:end]).replaced(edits)[start:]

    def statements(self) -> Iterator[tuple[ast.stmt, int]]:
        """Every statement with its depth (0 at module level), in order."""
        yield from statements_in(self.tree)


def after_future(script: Script, before: str) -> str:
    """The text with these lines at its beginning, but below `from __future__` and the docstring."""
    place = 0
    for statement in script.tree.body:
        if not is_bare_constant(statement) and not is_future(statement):
            break
        place = script.lines_span(statement)[1]
    return script.text[:place] + before + script.text[place:]


def reindent(text: str, old: str, new: str) -> str:
    """Lines that begin with `old` begin with `new` instead."""
    lines = text.splitlines(keepends=True)
    return "".join(new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines)


def blocks_of(node: ast.AST) -> Iterator[Block]:
    """The statement lists directly in a node: bodies, else, finally, handlers and cases."""
    for name in BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def statements_in(node: ast.AST, depth: int = 0) -> Iterator[tuple[ast.stmt, int]]:
    """Every statement within a node with its depth, in order."""
    for block in blocks_of(node):
        for statement in block:
            yield statement, depth
            yield from statements_in(statement, depth + 1)


def readable(text: str) -> str:
    """The text with plain line ends and every statement on lines of its own; rewritten as a whole only where it must be."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = text if text.endswith("\n") else text + "\n"
    return text if _has_own_lines(Script(text)) else ast.unparse(parse(text)) + "\n"


def _has_own_lines(script: Script) -> bool:
    last = 0
    for statement, _ in script.statements():
        line = script.first_line(statement)
        if line <= last and not isinstance(script.parents[statement], ast.If):
            return False
        before = script.text[script.offset(line, 0) : script.offset(statement.lineno, statement.col_offset)]
        if line == statement.lineno and before.strip() and before.strip() != "el":
            return False
        last = line if list(blocks_of(statement)) else (statement.end_lineno or line)
    # What only `str.splitlines` takes for the end of a line would be another line to us than to Python.
    return not any(mark in script.text for mark in ("\\\n", "\n\t", *"\f\v\x1c\x1d\x1e\x85\u2028\u2029"))
