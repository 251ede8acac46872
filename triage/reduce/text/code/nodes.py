"""What a node of the tree says: names, parameters, values, and what stands in it. Knows no text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def calls(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    """Whether it is `name(...)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def names_within(node: ast.AST) -> set[str]:
    """Names that stand in it, read or bound."""
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def bound_name(alias: ast.alias) -> str:
    """What an import binds."""
    return alias.asname or alias.name.split(".")[0]


def imported_modules(nodes: Iterable[ast.AST]) -> Iterator[ast.alias]:
    """What is imported by `import a, b as c`."""
    return (alias for node in nodes if isinstance(node, ast.Import) for alias in node.names)


def bind_torch(nodes: Iterable[ast.AST]) -> bool:
    """Whether `torch` is a name for it after these imports."""
    aliases = (alias for alias in imported_modules(nodes) if alias.asname in (None, "torch"))
    return any(alias.name.split(".")[0] == "torch" for alias in aliases)


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters, in order."""
    found = [*arguments.posonlyargs, *arguments.args]
    found += [arguments.vararg] if arguments.vararg else []
    found += arguments.kwonlyargs
    return [*found, arguments.kwarg] if arguments.kwarg else found


def defaults_of(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    """Parameters with their defaults, in order."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*pairs, *((argument, value) for argument, value in by_name if value is not None)]


def pairs_of(statement: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of `a, b = x, y` with their values; nothing where it is written otherwise."""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return []
    if any(isinstance(item, ast.Starred) for item in (*target.elts, *value.elts)):
        return []
    return list(zip(target.elts, value.elts, strict=True))


def super_inits(kind: ast.ClassDef) -> Iterator[ast.Call]:
    """`super().__init__(...)` with something in it."""
    for node in ast.walk(kind):
        if isinstance(node, ast.Call) and (node.args or node.keywords) and ast.unparse(node.func) == "super().__init__":
            yield node


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands in a module, function or lambda, but not in the functions and classes within it."""
    body = scope.body if isinstance(scope.body, list) else [scope.body]  # type: ignore[attr-defined]
    for statement in body:
        yield from within(statement)


def within(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what it holds, but no function's or class's body."""
    yield node
    for child in ast.iter_child_nodes(node) if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) else ():
        yield from within(child)


def string_of(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_float(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def is_future(node: ast.AST) -> bool:
    """`from __future__ import ...`."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


_CONSTANTS = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.expr_context)


def is_bare_constant(node: ast.AST) -> bool:
    """A statement that is a constant, as a docstring is, or is made of nothing else: `{}`."""
    return isinstance(node, ast.Expr) and all(isinstance(each, _CONSTANTS) for each in ast.walk(node.value))
