"""The calls of torch.compile in a script, as text: with another argument, everywhere it is called or decorates."""

from __future__ import annotations

import ast
from collections.abc import Iterator

COMPILE = "torch.compile"


def is_fullgraph(source: str) -> bool:
    """Whether a call asks for one graph."""
    return any(
        word.arg == "fullgraph" and isinstance(word.value, ast.Constant) and word.value.value is True
        for call in _calls(ast.parse(source))
        for word in call.keywords
    )


def with_setting(source: str, name: str, value: str | bool | None) -> str | None:
    """The script with this argument in each of its calls; None where there are none. A value of None takes it out.

    >>> with_setting("g = torch.compile(f, dynamic=True)", "dynamic", False)
    'g = torch.compile(f, dynamic=False)'
    """
    tree = ast.parse(source)
    places = [_edit_of_call(call, name, value, source) for call in _calls(tree)]
    places += [(*_span(bare, source), f"{COMPILE}({name}={value!r})") for bare in _bare(tree) if value is not None]
    if not places:
        return None
    for start, end, text in sorted((place for place in places if place is not None), reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == COMPILE)


def _bare(tree: ast.AST) -> Iterator[ast.expr]:
    """`@torch.compile`, without parentheses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from (each for each in node.decorator_list if ast.unparse(each) == COMPILE)


def _edit_of_call(call: ast.Call, name: str, value: str | bool | None, source: str) -> tuple[int, int, str] | None:
    word = next((word for word in call.keywords if word.arg == name), None)
    if word is not None and value is not None:
        return (*_span(word.value, source), repr(value))
    start, end = _span(call, source)
    if word is None and value is None:
        return start, start, ""  # it stands there already
    kept = ast.Call(call.func, call.args, [other for other in call.keywords if other is not word])
    if word is None:
        kept.keywords.append(ast.keyword(name, ast.Constant(value)))
    return start, end, ast.unparse(kept)


def _span(node: ast.expr, source: str) -> tuple[int, int]:
    """Where an expression stands in the text, in characters. Columns of ast count bytes."""
    lines = source.splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        before = sum(map(len, lines[: line - 1]))
        return before + len(lines[line - 1].encode()[:column].decode())

    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
