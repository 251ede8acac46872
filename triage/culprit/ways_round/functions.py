"""A whole function run uncompiled: `@torch.compiler.disable` right above its `def`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from triage.culprit.ways_round.source import Source, after_imports, functions_around
from triage.reduce.text.code.script import Edit

DECORATOR = "torch.compiler.disable"


@dataclass(frozen=True)
class Disabled:
    """`name` is `Net.loss`, `line` that of its `def`."""

    name: str
    line: int
    edits: tuple[Edit, ...]


def disabled_functions(source: Source, line: int) -> Iterator[Disabled]:
    """The functions that a line stands in, the innermost first."""
    for function in functions_around(source, line):
        if any(DECORATOR in source.source(each) for each in function.decorator_list):
            continue
        indent = source.indent(function)
        place = source.offset(function.lineno, 0)
        edits = [Edit(place, place, f"{indent}@{DECORATOR}\n")]
        needed = after_imports(source, [])
        classes = [each.name for each in source.above(function) if isinstance(each, ast.ClassDef)]
        name = ".".join([*reversed(classes), function.name])
        yield Disabled(name, function.lineno, (*([needed] if needed.text else []), *edits))
