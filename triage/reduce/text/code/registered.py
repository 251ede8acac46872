"""Functions that torch calls with the same arguments: what computes a custom operator, and what tells its shapes."""

from __future__ import annotations

import ast

from triage.reduce.text.code.nodes import all_arguments, string_of
from triage.reduce.text.code.script import Function, Script

_DEFINES = ("custom_op", "triton_op")
_REGISTERS = ("register_fake", "register_kernel", "impl_abstract")


def registered_with(script: Script, node: Function) -> list[Function]:
    """The function of a custom operator, then those registered for it that have as many parameters; `[node]` for any other."""
    for operator in script.nodes:
        keys = _keys(operator, _DEFINES)
        if not keys or not isinstance(operator, Function):
            continue
        count = len(all_arguments(operator.args))
        others = [
            other
            for other in script.nodes
            if isinstance(other, Function)
            and _keys(other, _REGISTERS) & keys
            and len(all_arguments(other.args)) == count
        ]
        if node in (operator, *others):
            return [operator, *others]
    return [node]


def _keys(node: ast.AST, marks: tuple[str, ...]) -> set[str]:
    """What names the operator of a decorator like these: its own name, or that of its function."""
    found = set[str]()
    for mark in node.decorator_list if isinstance(node, Function) else ():
        named, given = (mark.func, mark.args[:1]) if isinstance(mark, ast.Call) else (mark, [])
        if ast.unparse(named).rpartition(".")[2] not in marks:
            continue
        found |= {text for item in given if (text := string_of(item)) is not None}
        if marks is _DEFINES and isinstance(node, Function):
            found.add(node.name)
        elif marks is _REGISTERS:
            owner = [named.value] if isinstance(named, ast.Attribute) else []
            found |= {item.id for item in (*owner, *given) if isinstance(item, ast.Name)}
    return found
