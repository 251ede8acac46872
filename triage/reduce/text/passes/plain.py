"""The last polish for the reader: expressions that say less than they seem to, as plainly as they can be said.

What stands here means the same before and after, so most of it needs one query in all; passes that are over by then would
have taken many.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

_NEUTRAL = {ast.FloorDiv: 1, ast.Div: 1, ast.Mult: 1, ast.Pow: 1, ast.Add: 0, ast.Sub: 0}
_COMMUTES = (ast.Mult, ast.Add)
_BINDS_LESS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda)


def propose(script: Script) -> Iterator[Choice]:
    """The outermost first; what holds another is seen again in the next text."""
    done: list[Edit] = []
    for node in script.nodes:
        text = _plain(script, node)
        if text is None or script.in_fstring(node):
            continue
        edit = Edit(*script.span(node), text)
        if text != script.source(node) and not any(old.start <= edit.start < old.end for old in done):
            done.append(edit)
            yield one(edit)


def _plain(script: Script, node: ast.AST) -> str | None:
    """The same said more plainly; None where it is plain."""
    if isinstance(node, ast.BinOp):
        return _without_neutral(script, node)
    if isinstance(node, ast.JoinedStr):
        return _as_string(node)
    if isinstance(node, ast.Call):
        return _filled(script, node)
    if isinstance(node, ast.Compare):
        return _only_choice(script, node)
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Constant):
        return f"({script.source(node.body if node.test.value else node.orelse)})"
    return None


def _without_neutral(script: Script, node: ast.BinOp) -> str | None:
    """`n + 1` for `(n + 1) // 1`, in parentheses where it had them."""
    neutral = _NEUTRAL.get(type(node.op))
    if neutral is None:
        return None
    kept = None
    if _is_number(node.right, neutral):
        kept = node.left
    elif _is_number(node.left, neutral) and isinstance(node.op, _COMMUTES):
        kept = node.right
    if kept is None:
        return None
    inside = not isinstance(script.parents[node], ast.Assign | ast.Return | ast.Expr | ast.Call | ast.keyword)
    return f"({script.source(kept)})" if isinstance(kept, _BINDS_LESS) and inside else script.source(kept)


def _only_choice(script: Script, node: ast.Compare) -> str | None:
    """`x == 1` for `x in (1,)`."""
    spelled = {ast.In: "==", ast.NotIn: "!="}.get(type(node.ops[0]))
    items = node.comparators[0]
    if spelled is None or len(node.ops) != 1 or not isinstance(items, ast.Tuple | ast.List | ast.Set):
        return None
    if len(items.elts) != 1 or not isinstance(items.elts[0], ast.Constant | ast.Name | ast.Attribute):
        return None
    return f"{script.source(node.left)} {spelled} {script.source(items.elts[0])}"


def _as_string(node: ast.JoinedStr) -> str | None:
    """A string for an f-string that only holds constants: `"1 eager"` for `f"{1} eager"`."""
    told = ""
    for part in node.values:
        value = part.value if isinstance(part, ast.FormattedValue) else part
        plain = not isinstance(part, ast.FormattedValue) or (part.format_spec is None and part.conversion == -1)
        if not isinstance(value, ast.Constant) or not plain:
            return None
        told += str(value.value)
    text = repr(told)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in told else text


def _filled(script: Script, node: ast.Call) -> str | None:
    """`torch.ones(2)` for `torch.full((2,), 1.0)` and `torch.tensor([1.0, 1.0])`."""
    name = ast.unparse(node.func)
    if name == "torch.full" and len(node.args) == 2 and not node.keywords:
        made = next((word for word, value in (("ones", 1.0), ("zeros", 0.0)) if _is_number(node.args[1], value)), None)
        whole = isinstance(getattr(node.args[1], "value", None), int)
        return f"torch.{made}({script.source(node.args[0])})" if made and not whole else None
    if name != "torch.tensor" or len(node.args) != 1 or any(item.arg == "dtype" for item in node.keywords):
        return None
    shape, values = _shape(node.args[0])
    if shape and values in ({1.0}, {0.0}) and all(isinstance(value, float) for value in values):
        rest = "".join(f", {script.source(item)}" for item in node.keywords)
        return f"torch.{'ones' if values == {1.0} else 'zeros'}({', '.join(map(str, shape))}{rest})"
    return None


def _shape(node: ast.expr) -> tuple[tuple[int, ...], set[object]]:
    """The shape of a nested list and the set of what is in it; an empty set where it is no such list."""
    if isinstance(node, ast.Constant):
        return (), {node.value} if isinstance(node.value, float) else set()
    if not isinstance(node, ast.List) or not node.elts:
        return (), set()
    parts = [_shape(item) for item in node.elts]
    if len({shape for shape, _ in parts}) > 1 or not all(values for _, values in parts):
        return (), set()
    return (len(parts), *parts[0][0]), set().union(*(values for _, values in parts))


def _is_number(node: ast.expr, value: float) -> bool:
    number = node.value if isinstance(node, ast.Constant) else None
    return isinstance(number, int | float) and not isinstance(number, bool) and number == value
