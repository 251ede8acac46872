"""Regions that are compiled once and called often (`torch.compiler.nested_compile_region`), and a program without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from triage.culprit.ways_round.source import Source
from triage.reduce.text.code.script import Edit

REGION = "nested_compile_region"


def without_regions(source: Source) -> Iterator[Edit]:
    """Its decorators go; where it is a value (`region = torch.compiler.nested_compile_region`), what gives back its argument."""
    calls = {id(node.func): node for node in source.nodes if isinstance(node, ast.Call)}
    decorators = {id(each) for node in source.nodes for each in getattr(node, "decorator_list", ())}
    for node in source.nodes:
        if not _is_region(node):
            continue
        whole = calls.get(id(node), node)
        start, end = source.span(whole)
        if id(whole) in decorators:
            yield Edit(source.offset(whole.lineno, 0), source.line_end(whole.end_lineno or whole.lineno), "")
        elif not isinstance(whole, ast.Call):
            yield Edit(start, end, "(lambda function: function)")
        elif len(whole.args) == 1 and not whole.keywords:
            yield Edit(start, end, source.text[slice(*source.span(whole.args[0]))])


def _is_region(node: ast.AST) -> TypeGuard[ast.Attribute | ast.Name]:
    named = isinstance(node, ast.Attribute) and node.attr == REGION
    return named or (isinstance(node, ast.Name) and node.id == REGION and isinstance(node.ctx, ast.Load))
