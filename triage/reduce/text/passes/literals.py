"""Smaller numbers and shorter strings. Equal literals change together, so that shapes and names go on to agree.

What a check of the program allows stays: smaller, it would fail by rounding. So does a text that is looked for in another: a
shorter one is found in more (`"relu" in str(node)`, of a backend that refuses an operation, would be true of any).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tolerances import changes, tolerances
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    places: dict[tuple[str, object], list[ast.expr]] = {}
    held = tolerances(script)
    for node in script.nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and (
            changes([Edit(*script.span(node))], held) or _is_looked_for(script, node)
        ):
            continue
        if isinstance(node, ast.Constant) and not script.in_fstring(node) and not isinstance(node.value, bool):
            if isinstance(node.value, int | float | str):
                places.setdefault((type(node.value).__name__, node.value), []).append(node)
        elif isinstance(node, ast.JoinedStr) and not script.in_fstring(node):
            places.setdefault(("f-string", script.source(node)), []).append(node)
    for (_, value), nodes in places.items():
        told = _texts(value, nodes[0])
        if told:
            yield Choice(tuple(tuple(Edit(*script.span(node), text) for node in nodes) for text in told))
    for (_, value), nodes in places.items():  # then one by one: not all equal numbers mean the same
        if len(nodes) > 1:
            for node in nodes if _texts(value, nodes[0]) else ():
                yield Choice(tuple((Edit(*script.span(node), text),) for text in _texts(value, node)[:3]))
    for node in (node for (kind, value), nodes in places.items() if kind == "int" and value for node in nodes):
        if _is_index(script, node):  # the first of several is one of them; no size is 0 by it
            yield one(Edit(*script.span(node), "0"))


def _is_index(script: Script, node: ast.expr) -> bool:
    """Whether it says which of several is meant: the number in `x[2]`, `x[:, 2]`; of a slice it would be a size."""
    above: ast.AST = script.parents[node]
    inner: ast.AST = node
    if isinstance(above, ast.Tuple):
        inner, above = above, script.parents[above]
    return isinstance(above, ast.Subscript) and above.slice is inner and isinstance(above.ctx, ast.Load)


def _is_looked_for(script: Script, node: ast.expr) -> bool:
    """Whether a text is looked for in another one."""
    above = script.parents[node]
    if isinstance(above, ast.Compare) and above.left is node:
        listed = isinstance(above.comparators[0], ast.List | ast.Tuple | ast.Set | ast.Dict)
        return isinstance(above.ops[0], ast.In | ast.NotIn) and not listed
    called = above.func if isinstance(above, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in ("startswith", "endswith")


def _texts(value: object, node: ast.expr) -> list[str]:
    """What could stand there, simplest first."""
    if isinstance(node, ast.JoinedStr):
        return [text for text in ('""', _only_fields(node), _filled_in(node)) if text and len(text) < len(str(value))]
    if isinstance(value, int):
        # Not 0: a tensor without elements is a special case of its own, and fails in ways of its own.
        smaller = [1, 2, 3, 4, value // 2, value * 3 // 4, value - 1]
        return [str(item) for item in sorted(set(smaller)) if 0 < item < value]
    if isinstance(value, float):
        return [text for text in ("0.0", "1.0", "2.0") if float(text) != value and len(text) <= len(repr(value))]
    if isinstance(value, str):
        short = ['"1"'] if value.replace(".", "", 1).isdigit() else ['""', '"a"', '"x"']
        lines = value.splitlines(keepends=True)
        short += [repr("".join(lines[:count])) for count in sorted({1, 2, len(lines) // 2}) if 0 < count < len(lines)]
        return [text for text in short if len(text) < len(value) + 2]
    return []


def _only_fields(node: ast.JoinedStr) -> str:
    """`f"{i}"` of `f"layer_{i:03d}"`: a text that only has to be another one each time says no more."""
    fields = [ast.FormattedValue(item.value, -1) for item in node.values if isinstance(item, ast.FormattedValue)]
    text = ast.unparse(ast.JoinedStr(list(fields)))
    return text if '"' in text else f'f"{text[2:-1]}"'


def _filled_in(node: ast.JoinedStr) -> str:
    """`"0 of 4"` of `f"{0} of {4}"`; empty where a field is no plain constant."""
    fields = [item for item in node.values if isinstance(item, ast.FormattedValue)]
    if any(not isinstance(item.value, ast.Constant) or item.conversion != -1 or item.format_spec for item in fields):
        return ""
    held = [item.value if isinstance(item, ast.FormattedValue) else item for item in node.values]
    text = repr("".join(str(item.value) for item in held if isinstance(item, ast.Constant)))
    return text if '"' in text else f'"{text[1:-1]}"'
