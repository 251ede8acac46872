"""One call of the program spelled otherwise, by a helper that is called in its place: one that the compiler leaves alone, or not.

A function that the file imports is called by the helper by its name; of a method the helper is given the object. Operators
(`x // y`) are done in the same way. What stands on the other lines stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeGuard

from triage.culprit.ways_round.source import (
    Source,
    after_imports,
    functions_around,
    names_of,
)
from triage.culprit.ways_round.spellings import UNCOMPILED, Spelling
from triage.model.syntax import called_name
from triage.reduce.text.code.compile_calls import compile_uses
from triage.reduce.text.code.names import Occurrence, Occurrences
from triage.reduce.text.code.script import Edit

# The operator as it is written, and what its operations are called in a graph.
_OPERATORS: dict[type[ast.operator | ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("add",)),
    ast.Sub: ("-", ("sub",)),
    ast.Mult: ("*", ("mul",)),
    ast.Div: ("/", ("div", "truediv")),
    ast.FloorDiv: ("//", ("floor_divide", "floordiv")),
    ast.Mod: ("%", ("remainder", "mod")),
    ast.Pow: ("**", ("pow",)),
    ast.MatMult: ("@", ("matmul", "mm", "addmm", "bmm")),
    ast.BitAnd: ("&", ("and", "bitwise_and")),
    ast.BitOr: ("|", ("or", "bitwise_or")),
    ast.BitXor: ("^", ("xor", "bitwise_xor")),
    ast.LShift: ("<<", ("lshift", "bitwise_left_shift")),
    ast.RShift: (">>", ("rshift", "bitwise_right_shift")),
    ast.Eq: ("==", ("eq",)),
    ast.NotEq: ("!=", ("ne",)),
    ast.Lt: ("<", ("lt",)),
    ast.LtE: ("<=", ("le",)),
    ast.Gt: (">", ("gt",)),
    ast.GtE: (">=", ("ge",)),
}
_Node = ast.Call | ast.BinOp | ast.Compare
_DIGITS = re.compile(r"_?\d.*$")
_TELLING = 3  # characters
_NO_TENSORS = ("super", "range", "len", "isinstance", "getattr", "hasattr", "zip", "enumerate", "print", "type")


@dataclass(frozen=True)
class Respelled:
    """`what` (torch.cumsum) is called by way of `helper`. `named`: it does one of the operations that were asked for."""

    what: str
    helper: str
    edits: tuple[Edit, ...]
    named: bool = False


def respelled_calls(
    source: Source, line: int, names: Collection[str], spelling: Spelling = UNCOMPILED, modules: Collection[str] = ()
) -> Iterator[Respelled]:
    """The calls and operators of a line, each spelled so: first those that do an operation of these `names`.

    `names` are those of a graph (`cumsum`, `floordiv`), or of the `modules` on the way to the one that does it, which may
    be one of torch's that holds others (`self.body(x)`). Without one that fits, the outermost comes first. A spelling
    that gives copies is for calls that do such an operation, and do not write to what they are given.
    """
    wanted, seen = {_plain(name) for name in (*names, *modules)}, Occurrences(source)
    for node in _on_line(source, line, wanted):
        named = bool(wanted & set(_names_of_node(node)))
        if spelling.given is not None and (not named or _writes(node)):
            continue
        if isinstance(node, ast.Call):
            found = _of_call(source, seen, node, spelling)
        else:
            found = _of_operator(source, node, spelling)
        if found is not None:
            yield replace(found, named=named)


def lines_doing(source: Source, line: int, names: Collection[str]) -> list[int]:
    """The lines of the function around this one with a call or operator that may do an operation of these `names`.

    Those that are called so come first, then what is called alike: `logsigmoid` does a log_sigmoid_forward.
    """
    wanted = {_plain(name) for name in names}
    found: dict[int, bool] = {}
    for node in [each for function in functions_around(source, line)[:1] for each in ast.walk(function)]:
        if _does_something(node):
            called = _names_of_node(node)
            if any(_alike(*(name.replace("_", "") for name in pair)) for pair in product(wanted, called)):
                found[node.lineno] = found.get(node.lineno, False) or bool(wanted & set(called))
    return sorted(found, key=lambda number: (not found[number], number))


def _does_something(node: ast.AST) -> TypeGuard[_Node]:
    """Whether it is a call or an operator between two."""
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS
    return isinstance(node, ast.Call | ast.BinOp)


def _on_line(source: Source, line: int, names: set[str]) -> list[_Node]:
    found: list[tuple[tuple[bool, bool, bool, int], _Node]] = []
    compiles = {id(use) for use in compile_uses(source)}
    inside = bool(functions_around(source, line))
    for node in source.nodes:
        if not _does_something(node) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        called = _names_of_node(node)
        known, alike = bool(names & set(called)), any(_alike(*pair) for pair in product(names, called))
        start, end = source.span(node)
        # Outside of functions it is compiled code that is called there, and what is in it has no line.
        # What compares is most often a condition of Python's.
        may_be = inside and node.lineno == line and not isinstance(node, ast.Compare)
        if id(node) not in compiles and (known or may_be):
            found.append(((not known, not alike, not isinstance(node, ast.Call), start - end), node))
    return [node for _, node in sorted(found, key=lambda each: each[0])]


def _names_of_node(node: _Node) -> tuple[str, ...]:
    if isinstance(node, ast.Call):
        return (_plain(called_name(node)),)
    return tuple(_plain(name) for name in _operator(node)[1])


def _operator(node: ast.BinOp | ast.Compare) -> tuple[str, tuple[str, ...]]:
    return _OPERATORS[type(node.op if isinstance(node, ast.BinOp) else node.ops[0])]


def _writes(node: _Node) -> bool:
    """`x.add_(1)`, `torch.add(x, 1, out=x)`."""
    if not isinstance(node, ast.Call):
        return False
    return called_name(node).endswith("_") or any(each.arg == "out" for each in node.keywords)


def _plain(name: str) -> str:
    return name.strip("_")


def _alike(operation: str, called: str) -> bool:
    """Whether `self.conv1` may be what does a conv2d, or a convolution."""
    short, long = sorted((_DIGITS.sub("", operation), _DIGITS.sub("", called)), key=len)
    return len(short) >= _TELLING and long.startswith(short)


def _of_call(source: Source, seen: Occurrences, call: ast.Call, spelling: Spelling) -> Respelled | None:
    function = call.func
    start = source.span(call)[0]
    opening = source.text.find("(", source.span(function)[1])
    root = _root(function)
    if opening < 0 or (root is not None and root.id in _NO_TENSORS) or _asks_super(function):
        return None
    named = source.source(function)
    owner: str | None = named
    if isinstance(function, ast.Name):
        by_name = any(place.binds for place in _in_module(seen, function))
        helper = _free(source, function.id if by_name else "call", spelling)
        short, first, result = named, "function", "function"
    elif isinstance(function, ast.Attribute):
        by_name = root is not None and any(isinstance(at.node, ast.alias) for at in _in_module(seen, root))
        helper = _free(source, function.attr, spelling)
        owner = _owner(source, call, function)
        short = named if len(named) < 40 and "\n" not in named else f".{function.attr}"
        first, result = "owner", f"owner.{function.attr}"
    else:
        return None
    if by_name:
        edit = Edit(start, opening, helper)
        return _made(source, spelling, named, helper, "*args, **kwargs", f"{named}(*args, **kwargs)", edit)
    if owner is None:
        return None
    given = f"{owner}, " if call.args or call.keywords else owner
    edit = Edit(start, opening + 1, f"{helper}({given}")
    return _made(source, spelling, short, helper, f"{first}, *args, **kwargs", f"{result}(*args, **kwargs)", edit)


def _of_operator(source: Source, node: ast.BinOp | ast.Compare, spelling: Spelling) -> Respelled | None:
    symbol, names = _operator(node)
    start, end = source.span(node)
    last = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
    left, right = source.span(node.left)[1], source.span(last)[0]
    at = source.text.find(symbol, left, right)
    if at < 0 or "#" in source.text[start:end]:
        return None
    operands = f"{source.text[start:at].rstrip()}, {source.text[at + len(symbol) : end].lstrip()}"
    helper = _free(source, names[0], spelling)
    edit = Edit(start, end, f"{helper}({operands})")
    return _made(source, spelling, symbol, helper, "left, right", f"left {symbol} right", edit)


def _made(
    source: Source, spelling: Spelling, what: str, helper: str, parameters: str, result: str, edit: Edit
) -> Respelled:
    return Respelled(what, helper, (after_imports(source, spelling.helper(helper, parameters, result)), edit))


def _owner(source: Source, call: ast.Call, function: ast.Attribute) -> str | None:
    """The text before the dot, with the parentheses that it has."""
    start = source.span(call)[0]
    end = source.span(function)[1] - len(function.attr)
    dot = source.text.rfind(".", source.span(function.value)[1], end)
    text = source.text[start:dot].rstrip() if dot > 0 else ""
    return text if text and "#" not in text else None


def _in_module(seen: Occurrences, name: ast.Name) -> list[Occurrence]:
    """The places of a name of the module; none of a name that is a function's own."""
    return seen.of(name.id) if seen.owners.get(name) is seen.module else []


def _root(node: ast.expr) -> ast.Name | None:
    """`torch` of torch.nn.functional.relu; None of what is no dotted name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _asks_super(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "super" for each in ast.walk(node))


def _free(source: Source, name: str, spelling: Spelling) -> str:
    """A name for the helper that the file does not use."""
    taken, number = names_of(source), 1
    wanted = f"_{_plain(name)}_{spelling.suffix}"
    while (found := wanted if number == 1 else f"{wanted}_{number}") in taken:
        number += 1
    return found
