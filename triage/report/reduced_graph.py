"""The operations of a reproducer, read from its text: what is left of the program's graph, for a picture.

Read from the text and not from what the reducer held, so that an earlier run is drawn as well. Only a function that goes
from top to bottom is a graph; where one branches, repeats or defines another, nothing is drawn.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Sequence

from triage.model.syntax import OPERATORS, parse
from triage.report.graph_picture import Drawn


class _NotOneGraphError(Exception):
    """The function does not go from top to bottom."""


def drawn_of(source: str, name: str) -> tuple[Drawn, ...]:
    """The operations in the order in which they run; nothing where no compiled function can be read. `name` is the file's."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    function = _compiled(tree)
    if function is not None:
        reader = _Reader(name, function)
        with contextlib.suppress(_NotOneGraphError, RecursionError):
            reader.run(function.body)
            return tuple(reader.nodes)
    return ()


def _compiled(tree: ast.Module) -> ast.FunctionDef | None:
    """The function of this file that is handed to torch.compile."""
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "torch.compile" and call.args:
            first = call.args[0]
            if isinstance(first, ast.Name) and first.id in functions:
                return functions[first.id]
    return None


class _Reader:
    """`values` are the operations that what a name stands for was made by; an input was made by none."""

    def __init__(self, file: str, function: ast.FunctionDef) -> None:
        self.nodes: list[Drawn] = []
        self._file = file
        arguments = function.args
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._values: dict[str, tuple[str, ...]] = {each.arg: () for each in named}

    def run(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Assign):
                made = self._value(statement.value)
                for target in statement.targets:
                    self._assign(target, made)
            elif isinstance(statement, ast.AugAssign):
                takes = (*self._value(statement.target), *self._value(statement.value))
                self._assign(statement.target, self._add(OPERATORS[type(statement.op)], takes, statement))
            elif isinstance(statement, (ast.Return, ast.Expr)):
                if statement.value is not None:
                    self._value(statement.value)
            elif isinstance(statement, ast.With):  # torch.no_grad(), autocast
                self.run(statement.body)
            else:
                raise _NotOneGraphError

    def _assign(self, target: ast.expr, made: tuple[str, ...]) -> None:
        if isinstance(target, ast.Name):
            self._values[target.id] = made
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._assign(each.value if isinstance(each, ast.Starred) else each, made)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):  # x[0] = y changes x
            takes = (*self._value(target.value), *made)
            self._values[target.value.id] = self._add("copy_", takes, target)
        else:
            raise _NotOneGraphError

    def _value(self, value: ast.expr) -> tuple[str, ...]:
        if isinstance(value, ast.Name):
            return self._values.get(value.id, ())
        if isinstance(value, ast.Call):
            return self._call(value)
        if isinstance(value, (ast.BinOp, ast.UnaryOp)):
            parts = [value.left, value.right] if isinstance(value, ast.BinOp) else [value.operand]
            return self._computed(OPERATORS.get(type(value.op), ""), parts, value)
        if isinstance(value, ast.Compare):
            return self._computed(OPERATORS.get(type(value.ops[0]), ""), [value.left, *value.comparators], value)
        if isinstance(value, ast.Subscript):
            taken = self._value(value.value)
            one_of_several = isinstance(value.slice, ast.Constant) and isinstance(value.slice.value, int)
            return taken if one_of_several or not self._depends(value.value) else self._add("index", taken, value)
        if isinstance(value, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.IfExp)):
            raise _NotOneGraphError
        return self._values_of(ast.iter_child_nodes(value))

    def _values_of(self, parts: Iterable[ast.AST]) -> tuple[str, ...]:
        return tuple(made for part in parts if isinstance(part, ast.expr) for made in self._value(part))

    def _call(self, call: ast.Call) -> tuple[str, ...]:
        takes = self._values_of([*call.args, *(each.value for each in call.keywords)])
        if isinstance(call.func, ast.Attribute) and self._depends(call.func.value):
            return self._add(call.func.attr, (*self._value(call.func.value), *takes), call)
        if not isinstance(call.func, (ast.Name, ast.Attribute)):  # what another call gave
            raise _NotOneGraphError
        return self._add(ast.unparse(call.func), takes, call)

    def _computed(self, operator: str, parts: Sequence[ast.expr], of: ast.expr) -> tuple[str, ...]:
        takes = self._values_of(parts)
        return self._add(operator, takes, of) if operator and any(map(self._depends, parts)) else takes

    def _depends(self, value: ast.expr) -> bool:
        """Whether a name of the function stands in it: `x + 1` is an operation of the graph, `2 * 3` is none."""
        return any(isinstance(each, ast.Name) and each.id in self._values for each in ast.walk(value))

    def _add(self, target: str, takes: tuple[str, ...], where: ast.stmt | ast.expr) -> tuple[str, ...]:
        name = f"{target}_{len(self.nodes)}"
        self.nodes.append(Drawn(name, target, f"{self._file}:{where.lineno}", tuple(dict.fromkeys(takes))))
        return (name,)
