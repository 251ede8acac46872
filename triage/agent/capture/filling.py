"""What fills a table that carried statements read: `TABLE.append(f)`, `TABLE["x"] = f`, `@TABLE.rule`, calls and decorators of
the program's own functions that do so, and classes made from one that takes note of them (`__init_subclass__`).

Nothing names such a statement: a backend that calls all that stands in a table says nothing of who put it there. A table
is known by what it is, whatever a file calls it.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Dict, List

from . import effects
from .units import Statement, Unit

_CHANGES = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Expr)


def fillings(units: Dict[str, Unit], order: List[Unit], tables: List[Any]) -> List[Statement]:
    """The statements of the user's files that put something into one of the tables, and can be carried."""
    if not tables:
        return []
    does = functools.partial(_fills, tables)
    found = [item for unit in order for item in effects.doing(does, units, unit, unit.statements)]
    return [item for item in found if effects.can_be_carried(units, item)]


def _fills(tables: List[Any], units: Dict[str, Unit], unit: Unit, node: ast.AST) -> bool:
    calls: List[ast.AST] = [node]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        made = unit.namespace.get(node.name)
        if isinstance(made, type) and any(table in made.__mro__[1:] for table in tables if isinstance(table, type)):
            return True
        if any(_is_table(tables, unit, item) for item in node.decorator_list):
            return True
        calls = [
            ast.Expr(item if isinstance(item, ast.Call) else ast.Call(item, [], [])) for item in node.decorator_list
        ]
    elif _changes(tables, unit, node):
        return True
    return any(
        effects.only_prepares(other, function) and any(_changes(tables, other, item) for item in ast.walk(function))
        for call in calls
        for other, function in effects.called_by(units, unit, call)
    )


def _changes(tables: List[Any], unit: Unit, node: ast.AST) -> bool:
    """Whether it assigns to a part of a table, or calls a method of it and does nothing with what that gives."""
    if not isinstance(node, _CHANGES):
        return False
    if isinstance(node, ast.Expr):
        call = node.value
        return (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_table(tables, unit, call.func)
        )
    targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
    whole = not isinstance(node, ast.AugAssign)  # a new value of the name is another table
    return any(_is_table(tables, unit, item) for item in targets if not (whole and isinstance(item, ast.Name)))


def _is_table(tables: List[Any], unit: Unit, node: ast.AST) -> bool:
    """Whether an expression begins with a table: `TABLE`, `TABLE.rule("x")`, `module.TABLE[0]`."""
    while True:
        value = effects.value_of(unit, node)
        if value is not None and any(value is table for table in tables):
            return True
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return False
