"""Python's syntax trees, made by one thread at a time.

Until 3.11.8 the interpreter counts the depth of a tree under construction once for all threads: a garbage collection in
the middle lets another thread in, and `ast.parse` ends in "AST constructor recursion depth mismatch", a SystemError
(https://github.com/python/cpython/issues/106905). Candidates are judged by several threads, so nothing here calls
`ast.parse` by itself.
"""

from __future__ import annotations

import ast
import threading

_one_thread = threading.RLock()  # a finalizer may parse while its own thread does

# What torch's dispatcher calls an operator of Python's.
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "pow", ast.MatMult: "matmul", ast.USub: "neg",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.Invert: "bitwise_not",
    ast.LShift: "bitwise_left_shift", ast.RShift: "bitwise_right_shift", ast.Not: "logical_not",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


def parse(text: str | bytes) -> ast.Module:
    """The tree of a program. Raises SyntaxError, or ValueError where the text holds a null character."""
    with _one_thread:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression. Raises as `parse` does."""
    with _one_thread:
        return ast.parse(text, mode="eval").body


def function_at(tree: ast.AST, line: int) -> str:
    """The innermost function around the line, as a traceback names it."""
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    around = [node for node in around if node.lineno <= line <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno).name if around else "<module>"


def last_name(node: ast.AST) -> str:
    """`f` of `f` and of `a.b.f`; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def first_name(node: ast.AST) -> str:
    """`a` of `a` and of `a.b.f`; empty for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def called_name(node: ast.AST) -> str:
    """`f` of `f(x)` and of `a.b.f(x)`; empty for anything else."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""
