"""What "smaller" means for a script: what people like to read, in one sort key.

First names that come from files a stranger does not have, then statements (a loop is two: it must be run in one's head),
then tokens (a name and a number weigh the same, whatever their length), then nesting, then how plain the numbers and names
are.
"""

from __future__ import annotations

import ast
import io
import keyword
import sys
import tokenize
from collections.abc import Iterable, Iterator
from typing import Protocol

STANDARD = frozenset({*sys.stdlib_module_names, "torch", "torchvision", "numpy"})


class Weighed(Protocol):
    """What is asked of a script."""

    @property
    def text(self) -> str: ...

    @property
    def nodes(self) -> list[ast.AST]: ...

    def statements(self) -> Iterable[tuple[ast.stmt, int]]: ...


def weigh(script: Weighed) -> tuple[float, ...]:
    """(foreign names, statements, tokens, nesting, size of literals and names, characters)."""
    statements = nesting = 0
    for statement, depth in script.statements():
        statements += 2 if isinstance(statement, ast.For | ast.While) else 1
        nesting += depth
    tokens = size = 0
    for token in tokens_of(script.text):
        if token.type in LAYOUT:
            continue
        tokens += 1
        if token.type in (tokenize.NUMBER, tokenize.STRING) or not keyword.iskeyword(token.string):
            size += len(token.string)
    foreign = sum(len(names) for _, names in foreign_imports(script))
    return (foreign, statements, tokens, nesting, size + _numbers(script), len(script.text))


def foreign_imports(script: Weighed) -> Iterator[tuple[ast.Import | ast.ImportFrom, list[ast.alias]]]:
    """Imports of what is neither torch nor comes with Python, anywhere in the script."""
    for node in script.nodes:
        if isinstance(node, ast.Import):
            names = [alias for alias in node.names if alias.name.split(".")[0] not in STANDARD]
        elif isinstance(node, ast.ImportFrom):
            names = [] if not node.level and (node.module or "").split(".")[0] in STANDARD else node.names
        else:
            continue
        if names:
            yield node, names


def _numbers(script: Weighed) -> float:
    """Small numbers read better: 2 before 64 before 1000, and 1 before 0.37."""
    total = 0.0
    for node in script.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            total += min(abs(node.value), 10_000) / 10_000
    return round(total, 6)


# What says nothing by itself.
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def tokens_of(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
