"""A program that only prints what is wrong: the final text with a comparison at its end, so that it fails by itself.

The values that it printed are collected instead, and compared with those of its uncompiled run.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from triage.judge.printed import BEYOND, NEARLY_NOTHING
from triage.reduce.text.code.names import bound_globals
from triage.reduce.text.code.nodes import calls, is_bare_constant
from triage.reduce.text.code.script import Edit, Script

MOST_VALUES = 24  # more in the list of what is expected is nothing to read
MOST_TEXT = 400  # characters of it, where words are among them
MOST_ALONE = 4  # of so many values each is tried by itself, before all of them
_PERCENT = re.compile(r"%[-+ #0]*[\d.]*([a-zA-Z])")
_FLOATS = ("e", "f", "g", "%")  # the last letter of the format of a float


def compared_at_the_end(script: Script, uncompiled: Callable[[str], str | None]) -> Iterator[Script]:
    """The script with the values that it prints collected, and compared at its end with those of its uncompiled run.

    `uncompiled` gives what a text prints without a compiler, None where it fails.
    """
    in_functions = {node.id for node in script.nodes if isinstance(node, ast.Name)}
    taken = bound_globals(script) | in_functions
    numbered = (f"printed{n}" for n in itertools.count(2))
    name = "printed" if "printed" not in taken else next(name for name in numbered if name not in taken)

    def told_by(collecting: str | None) -> list[Any]:
        return _values(uncompiled(f"{collecting}print({name})\n")) if collecting is not None else []

    for told, only in _choices(script):
        collecting = _collecting(script, name, told, only)
        values = told_by(collecting)
        if collecting is None or not 0 < len(values) <= MOST_VALUES:
            continue
        if told is _printed and _are_flags(told_by(_collecting(script, name, _plain, only))):
            continue  # they are compared as they are
        if told is not _plain and all(_is_finite(value) for value in values):
            near = f"rtol={BEYOND}, atol={NEARLY_NOTHING}"
            numbers = [float(value) for value in values]
            yield Script(f"{collecting}torch.testing.assert_close({name}, {numbers!r}, {near})\n")
        elif told is _plain and len(repr(values)) <= MOST_TEXT:
            yield Script(f"{collecting}assert {name} == {values!r}\n")


def _choices(script: Script) -> Iterator[tuple[Callable[[ast.Call], list[str]], int | None]]:
    """What is told of each `print`, and which of these values alone (None for all): the one that is wrong says it best."""
    for told in (_formatted, _printed, _plain):
        count = sum(len(told(call)) for _, call in _prints(script))
        for only in (*(range(count) if 1 < count <= MOST_ALONE else ()), None):
            yield told, only


def _prints(script: Script) -> Iterator[tuple[ast.Expr, ast.Call]]:
    """Each statement that prints, with its call."""
    yield from (
        (node, node.value) for node in script.nodes if isinstance(node, ast.Expr) and calls(node.value, "print")
    )


def _collecting(
    script: Script, name: str, told: Callable[[ast.Call], list[str]], only: int | None = None
) -> str | None:
    """The text in which each `print` that tells values adds them to a list of this name; None where none does."""
    edits: list[Edit] = []
    number = itertools.count()
    for node, call in _prints(script):
        values = [value for value in told(call) if next(number) == only or only is None]
        added = f"append({values[0]})" if len(values) == 1 else f"extend([{', '.join(values)}])"
        edits += [Edit(*script.span(node), f"{name}.{added}")] if values else []
    if not edits:
        return None
    first = next(
        item
        for item in script.tree.body
        if not (is_bare_constant(item) or isinstance(item, ast.Import | ast.ImportFrom))
    )
    place = script.offset(script.first_line(first), 0)
    return script.replaced([*edits, Edit(place, place, f"{name} = []\n")])


def _formatted(call: ast.Call) -> list[str]:
    """What is printed as a number with a point: it has a format for one, or is made as one."""
    return [_as_float(value) for value, form in _told(call) if _is_float(value) or form[-1:] in _FLOATS]


def _printed(call: ast.Call) -> list[str]:
    """Whatever is printed and not the same each time, as numbers."""
    return [_as_float(value) for value, _ in _told(call)]


def _plain(call: ast.Call) -> list[str]:
    """The same as it is: words, counts, lists of both."""
    return [ast.unparse(value) for value, _ in _told(call)]


def _told(call: ast.Call) -> list[tuple[ast.expr, str]]:
    """The values that are printed and not the same each time, each with its format; first those that stand in strings."""
    inserted = [_inserted(item) for item in call.args]
    found = [pair for pairs in inserted if pairs is not None for pair in pairs]
    found += [(item, "") for item, pairs in zip(call.args, inserted, strict=True) if pairs is None]
    return [(value, form) for value, form in found if not isinstance(value, ast.Constant | ast.Starred)]


def _inserted(item: ast.expr) -> list[tuple[ast.expr, str]] | None:
    """The values that stand in a string, each with its format: `f"{x:.2f}"`, `"%.2f" % x`; None of what is no such string."""
    if isinstance(item, ast.JoinedStr):
        return [(node.value, _format(node.format_spec)) for node in item.values if isinstance(node, ast.FormattedValue)]
    if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod) and isinstance(item.left, ast.Constant):
        values = item.right.elts if isinstance(item.right, ast.Tuple) else [item.right]
        forms = _PERCENT.findall(str(item.left.value).replace("%%", ""))
        return list(zip(values, forms, strict=True)) if len(forms) == len(values) else None
    return None


def _format(form: ast.expr | None) -> str:
    """The format's text, as far as it is one."""
    last = form.values[-1] if isinstance(form, ast.JoinedStr) and form.values else None
    return str(last.value) if isinstance(last, ast.Constant) else ""


def _is_float(value: ast.expr) -> bool:
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return called == "float" or called.endswith(".item")


def _as_float(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if _is_float(value) else f"float({text})"


def _values(printed: str | None) -> list[Any]:
    """The list in the last line; empty where it is none, or holds what is no literal: a NaN, a tensor."""
    try:
        values = ast.literal_eval((printed or "").strip().splitlines()[-1])
    except (IndexError, SyntaxError, ValueError, TypeError):
        return []
    return values if isinstance(values, list) else []


def _are_flags(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, bool) for value in values)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
