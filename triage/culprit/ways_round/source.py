"""A file of the program as text: edits keep every other byte of it, its line ends and its encoding."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from triage.model.syntax import called_name
from triage.reduce.text.code.nodes import bind_torch
from triage.reduce.text.code.script import Edit, Function, Script

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Source(Script):
    """What Python reads in a file. `tree` raises SyntaxError where our Python is older than the program's."""

    encoding: str = "utf-8"

    @classmethod
    def read(cls, data: bytes) -> Source | None:
        """None where the text cannot be written back as it was, or is no Python."""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            found = cls(data.decode(encoding), encoding)
            return found if found.data == data and found.tree is not None else None
        except (SyntaxError, UnicodeError, ValueError, RecursionError):
            return None

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)

    @cached_property
    def _lines(self) -> list[str]:  # only what Python itself takes for the end of a line
        return _LINE.findall(self.text)

    @property
    def newline(self) -> str:
        first = self._lines[0] if self._lines else ""
        return first[len(first.rstrip("\r\n")) :] or "\n"

    def changed(self, edits: Iterable[Edit]) -> Source | None:
        """With these edits; None where that is no Python any more. The lines of an edit get the file's own ends."""
        own = [replace(edit, text=edit.text.replace("\n", self.newline)) for edit in edits]
        return Source.read(replace(self, text=self.replaced(own)).data)

    def line_text(self, line: int) -> str:
        return self._lines[line - 1] if 0 < line <= len(self._lines) else ""

    def line_end(self, line: int) -> int:
        """The offset below this line."""
        return self.offset(line + 1, 0)


def functions_around(source: Source, line: int) -> list[Function]:
    """The functions whose bodies this line stands in, the innermost first."""
    found = [
        node
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return sorted(found, key=lambda node: node.lineno, reverse=True)


def functions_called(source: Source, name: str) -> list[Function]:
    """The functions of the file that one of this name may call, by their names alone: what is called last comes first.

    The one of this name (`step`, `Net.loss`) is not among them. Of a class it is its `forward`, or its `__call__`.
    """
    defined: dict[str, list[Function]] = {}
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defined.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            own = [
                each for each in node.body if isinstance(each, ast.FunctionDef) and each.name in ("forward", "__call__")
            ]
            defined.setdefault(node.name, []).extend(own)
    first = defined.get(name.rpartition(".")[2], [])
    found: dict[Function, None] = dict.fromkeys(first)
    level = first
    while level:
        named = [called_name(node) for function in level for node in ast.walk(function)]
        level = list(dict.fromkeys(each for word in named for each in defined.get(word, []) if each not in found))
        found.update(dict.fromkeys(level))
    return [each for each in reversed(found) if each not in first]


def after_imports(source: Source, lines: Sequence[str]) -> Edit:
    """These lines below the imports at the top of the file, the import of torch among them; above them what they need of it."""
    body = source.tree.body
    first = next((index for index, each in enumerate(body) if _imports_torch(each)), None)
    if first is None:
        first = next((index for index, each in enumerate(body) if _is_import(each)), None)
    if first is None:
        line = 0
        for each in body:
            if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
                break
            line = each.end_lineno or line
    else:
        last = first
        while last + 1 < len(body) and _is_import(body[last + 1]):
            last += 1
        line = body[last].end_lineno or body[last].lineno
    place = source.line_end(line) if line else 0
    before = "" if not place or source.text[place - 1] in "\r\n" else "\n"
    needed = [] if bind_torch(each for each in body if each.lineno <= line) else ["import torch"]
    return Edit(place, place, before + "".join(f"{each}\n" for each in [*needed, *lines]))


def above(source: Source, node: ast.AST, line: str) -> Edit:
    """A line above the statement that a node stands in, and above its decorators."""
    statement = source.statement_of(node)
    place = source.offset(source.first_line(statement), 0)
    return Edit(place, place, f"{source.indent(statement)}{line}\n")


def names_of(source: Source) -> set[str]:
    """Every name that the file uses or binds."""
    found = set()
    for node in source.nodes:
        for field in ("id", "name", "asname", "arg", "attr"):
            value = getattr(node, field, None)
            found |= {value} if isinstance(value, str) else set()
    return found


def _is_import(statement: ast.stmt) -> bool:
    """An import, also one that may fail (`try`), or that is for type checkers (`if`)."""
    if isinstance(statement, ast.If | ast.Try):
        return all(map(_is_import, statement.body))
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _imports_torch(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return any(each.name.split(".")[0] == "torch" for each in statement.names)
    return isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "torch"
