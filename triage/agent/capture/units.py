"""The user's source files that are loaded, as statements with the names they bind and the names they need.

A *unit* is one file with the namespace its code runs in. Statements are those at the top level of the file; the body of
`if __name__ == "__main__":` counts as top level, and so do the bodies of functions that `inside` is asked for.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.util
import os
import symtable
import sys
import tokenize
from typing import Any, Dict, List, Optional, Set

from .. import whose

SIZE_LIMIT = 2000000  # a source file larger than this was not written by hand


class Statement:
    """One statement of a unit, decorators included. `text` is its source, dedented."""

    def __init__(self, unit: "Unit", node: ast.stmt) -> None:
        self.unit, self.node = unit, node
        first = min([node.lineno] + [item.lineno for item in getattr(node, "decorator_list", [])])
        self.lines = (first, node.end_lineno or first)
        raw = unit.lines[first - 1 : self.lines[1]]
        self.indent = len(raw[0]) - len(raw[0].lstrip()) if raw else 0
        self.text = "".join(_dedented(line, self.indent) for line in raw).rstrip()
        if raw and ";" in raw[0] and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.text = ast.unparse(node)  # one of several on a line

    def key(self):
        return (self.unit.file, self.lines)

    def binds(self) -> List[str]:
        """The names this statement gives a value to."""
        return _bound(self.node)

    def needs(self) -> Set[str]:
        """The global names that the statement, or a function it defines, reads."""
        try:
            table = symtable.symtable(self.text, self.unit.file, "exec")
        except SyntaxError:
            return {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)}
        return {name for name in _globals(table) if not hasattr(builtins, name) or name in self.unit.bindings}


class Unit:
    """A file and the namespace its statements run in."""

    def __init__(self, file: str, text: str, namespace: Dict[str, Any], name: str) -> None:
        self.file, self.text, self.namespace, self.name = file, text, namespace, name
        self.lines = text.splitlines(True)
        self.tree = ast.parse(text)
        self.statements = [Statement(self, node) for node in _flat(self.tree.body)]
        self.bindings: Dict[str, List[Statement]] = {}
        self.add(self.statements)

    def add(self, statements: List[Statement]) -> None:
        for statement in statements:
            for name in statement.binds():
                known = self.bindings.setdefault(name, [])
                if statement.key() not in [other.key() for other in known]:
                    known.append(statement)

    def inside(self, statement: Statement) -> List[Statement]:
        """The statements of a function's or a `with` block's body."""
        return [Statement(self, node) for node in _flat(getattr(statement.node, "body", []))]

    @functools.cached_property
    def origins(self) -> Dict[str, str]:
        """Name -> the module it is imported from, or is, for every import of the file, those inside functions too."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    found[name] = alias.name if isinstance(node, ast.Import) else imported_name(node, self)
        return found

    @property
    def package(self) -> str:
        found = self.namespace.get("__package__")
        return found if isinstance(found, str) and found else self.name.rpartition(".")[0]


def _dedented(line: str, indent: int) -> str:
    return line[indent:] if line[:indent].strip() == "" else line.lstrip()


def _flat(body: List[ast.stmt]):
    for node in body:
        if isinstance(node, ast.If) and "__name__" in {
            item.id for item in ast.walk(node.test) if isinstance(item, ast.Name)
        }:
            yield from _flat(node.body)
        else:
            yield node


def _bound(node: ast.AST) -> List[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    found = []
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            found.append(item.id)
        elif item is not node and isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            found += _bound(item)
    return found


def _globals(table: Any, top: bool = True) -> Set[str]:
    found = set()
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or top):
            found.add(symbol.get_name())
    for child in table.get_children():
        found |= _globals(child, False)
    return found


def user_units() -> Dict[str, Unit]:
    """Every loaded module whose source is the user's own, by file name."""
    units: Dict[str, Unit] = {}
    for name, module in list(sys.modules.items()):
        unit = unit_of(name, getattr(module, "__dict__", None), getattr(module, "__file__", None))
        if unit is not None and (unit.file not in units or name != "__main__"):
            units[unit.file] = unit
    return units


def unit_of(name: str, namespace: Any, file: Optional[str]) -> Optional[Unit]:
    """The unit of a module; None where the source is not the user's, or cannot be read."""
    if not isinstance(namespace, dict) or not isinstance(file, str) or not whose.is_users(file):
        return None
    try:
        if os.path.getsize(file) > SIZE_LIMIT:
            return None
        with tokenize.open(file) as stream:
            return Unit(file, stream.read(), namespace, name)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def imported_name(node: ast.ImportFrom, unit: Unit) -> str:
    """The absolute name of the module in `from ... import`."""
    if not node.level:
        return node.module or ""
    return importlib.util.resolve_name("." * node.level + (node.module or ""), unit.package)
