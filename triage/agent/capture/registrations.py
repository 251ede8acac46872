"""Which statements of the user's files register an operator.

Three ways of registering are recognised by what a statement says: the operator's full name as a string (`custom_op`,
`torch.library.define`, `register_fake`, ...), its bare name together with a `Library` of its namespace (`lib.define`,
`lib.impl`, `@impl(lib, ...)`), and a method of the object that `custom_op` gave (`@op.register_fake`,
`op.register_autograd(...)`).
"""

from __future__ import annotations

import ast
from typing import Any, List, Set

from .units import Statement, Unit

_HANDLE_METHODS = ("register_", "impl", "save_for_backward", "def_vmap")


class Operator:
    """An operator's name in its parts; `handle` is the object that `torch.library.custom_op` made, if it did."""

    def __init__(self, namespace: str, name: str, handle: Any = None) -> None:
        self.namespace, self.name, self.handle = namespace, name, handle

    @property
    def qualified(self) -> str:
        return "%s::%s" % (self.namespace, self.name)


def registrations(unit: Unit, operator: Operator) -> List[Statement]:
    """The statements of `unit` that define the operator or add a kernel, a fake or a backward to it, in order."""
    if operator.namespace not in unit.text and operator.name not in unit.text:
        return []
    found = _among(unit, unit.statements, operator, _library_names(unit, operator), _handles(unit, operator))
    return sorted(found, key=lambda statement: statement.lines)


def _among(unit: Unit, statements: List[Statement], operator: Operator, libraries: Set[str], handles: Set[str]):
    libraries = libraries | _made_libraries(statements, operator)
    found = []
    for _ in range(2):  # a registration may stand above the definition of what it is a method of
        for statement in statements:
            if statement in found:
                continue
            if _registers(_outside(statement.node), unit, operator, libraries, handles):
                found.append(statement)
                handles = handles | set(_new_handles(statement))
    for statement in statements:
        body = isinstance(statement.node, (ast.FunctionDef, ast.With, ast.AsyncFunctionDef))
        if statement in found or not body or not _mentions(list(ast.walk(statement.node)), unit, operator):
            continue
        inner = unit.inside(statement)
        deeper = _among(unit, inner, operator, libraries | _parameters(statement.node), handles)
        if deeper:
            unit.add(inner)
            found += deeper
    return found


def _outside(node: ast.AST) -> List[ast.AST]:
    """The parts of a statement that run when it does: of a function only its decorators and defaults."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts: List[Any] = [*node.decorator_list, *node.args.defaults]
    elif isinstance(node, ast.With):
        parts = []  # its body is looked at by itself
    else:
        parts = [node]
    return [item for part in parts for item in ast.walk(part)]


def _registers(nodes: List[ast.AST], unit: Unit, operator: Operator, libraries: Set[str], handles: Set[str]) -> bool:
    calls = [item for item in nodes if isinstance(item, ast.Call)]
    attributes = [item for item in nodes if isinstance(item, ast.Attribute)]
    for item in attributes:
        if item.attr.startswith(_HANDLE_METHODS) and isinstance(item.value, ast.Name) and item.value.id in handles:
            return True
    if not calls:
        return False
    texts = _strings(nodes, unit)
    if any(_names(text, operator.qualified) for text in texts):
        return not _is_use(nodes)
    if any(_names(text, operator.name) for text in texts):
        return bool(libraries & {item.id for item in nodes if isinstance(item, ast.Name)})
    return False


def _is_use(nodes: List[ast.AST]) -> bool:
    """A call that only looks the operator up or tests it, e.g. torch.library.opcheck."""
    called = {item.func.attr for item in nodes if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute)}
    return bool(called & {"opcheck", "print", "get_ctx"})


def _mentions(nodes: List[ast.AST], unit: Unit, operator: Operator) -> bool:
    return any(_names(text, operator.qualified) or _names(text, operator.name) for text in _strings(nodes, unit))


def _strings(nodes: List[ast.AST], unit: Unit) -> List[str]:
    """String constants, f-strings with their known parts, and names of module-level strings."""
    found = []
    for item in nodes:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            found.append(item.value)
        elif isinstance(item, ast.Name) and isinstance(unit.namespace.get(item.id), str):
            found.append(unit.namespace[item.id])
        elif isinstance(item, (ast.JoinedStr, ast.BinOp)):
            found.append(_joined(item, unit))
    return found


def _joined(item: ast.AST, unit: Unit) -> str:
    if isinstance(item, ast.Constant):
        return str(item.value)
    if isinstance(item, ast.Name):
        return str(unit.namespace.get(item.id, "?"))
    if isinstance(item, ast.FormattedValue):
        return _joined(item.value, unit)
    if isinstance(item, ast.JoinedStr):
        return "".join(_joined(part, unit) for part in item.values)
    if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Add):
        return _joined(item.left, unit) + _joined(item.right, unit)
    return "?"


def _names(text: str, name: str) -> bool:
    """`name` itself, with an overload (`name.Tensor`), or as the head of a schema (`name(Tensor x) -> Tensor`)."""
    text = text.strip()
    return text == name or (text.startswith(name) and text[len(name) : len(name) + 1] in ("(", ".", " "))


def _library_names(unit: Unit, operator: Operator) -> Set[str]:
    import torch

    library = getattr(getattr(torch, "library", None), "Library", ())
    return {
        name
        for name, value in list(unit.namespace.items())
        if isinstance(value, library) and getattr(value, "ns", None) == operator.namespace
    }


def _made_libraries(statements: List[Statement], operator: Operator) -> Set[str]:
    """Names bound to `Library("ns", ...)` in a function's body, where no namespace can be asked."""
    found = set()
    for statement in statements:
        if isinstance(statement.node, (ast.Assign, ast.With)):
            calls = [item for item in ast.walk(statement.node) if isinstance(item, ast.Call) and item.args]
            first = [item.args[0] for item in calls if callee(item) in ("Library", "_scoped_library")]
            if any(isinstance(item, ast.Constant) and item.value == operator.namespace for item in first):
                found.update(statement.binds())
    return found


def callee(call: ast.Call) -> str:
    """The bare name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _parameters(node: ast.AST) -> Set[str]:
    """A function may be given the library: `def register(lib): lib.define(...)`."""
    return {item.arg for item in getattr(getattr(node, "args", None), "args", [])}


def _handles(unit: Unit, operator: Operator) -> Set[str]:
    if operator.handle is None:
        return set()
    return {name for name, value in list(unit.namespace.items()) if value is operator.handle}


def _new_handles(statement: Statement) -> List[str]:
    """The name of a function that `custom_op` decorates, or of what is assigned from it."""
    called = {callee(item) for item in _outside(statement.node) if isinstance(item, ast.Call)}
    return statement.binds() if called & {"custom_op", "triton_op"} else []
