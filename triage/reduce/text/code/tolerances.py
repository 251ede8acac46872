"""How much the program's own checks allow: passes that change values leave it alone.

A check that allows less than the program's fails by rounding alone, and every backend rounds in its own way: the search would
end in another failure of the same look.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from triage.model.syntax import called_name, last_name
from triage.reduce.text.code.edits import overlap
from triage.reduce.text.code.nodes import defaults_of, is_float, is_number, string_of
from triage.reduce.text.code.script import Edit, Function, Script

Place = tuple[ast.AST, tuple[int, int]]  # an expression that stays, and within what

# Names of what a check allows: of any call's arguments, and of those of a call that looks like a check.
_TOLERANCES = frozenset(
    {"rtol", "atol", "tol", "tolerance", "rel_tol", "abs_tol", "max_ulp", "maxulp", "nulp", "places", "decimal"}
)
_OF_CHECKS = frozenset({"eps", "epsilon", "delta", "threshold", "limit", "rel", "abs", "significant"})
_CHECK = re.compile(r"assert|close|equal|approx|check|compare|verify", re.IGNORECASE)
# Where such arguments begin, given by position.
_BEHIND = {
    "allclose": 2, "isclose": 2, "assert_allclose": 2, "assert_almost_equal": 2, "assert_approx_equal": 2,
    "assert_array_almost_equal": 2, "assertAlmostEqual": 2, "assertNotAlmostEqual": 2, "gradcheck": 2,
    "gradgradcheck": 3, "approx": 1,
}  # fmt: skip
_ENDS = ("exit", "fail", "_exit")
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SMALL = 0.1  # what anything is compared with below that is mostly an error that is allowed
_MOST_STEPS = 3  # from a tolerance to the names in it, to the names in what those stand for


@dataclass(frozen=True)
class Protected:
    """An expression that stays as it is: no edit within this place may touch it. What is larger takes away the check."""

    start: int
    end: int
    within: tuple[int, int]

    def is_changed_by(self, edit: Edit) -> bool:
        inside = self.within[0] <= edit.start and edit.end <= self.within[1]
        return inside and overlap(edit, Edit(self.start, self.end))


def changes(edits: Iterable[Edit], held: Iterable[Protected]) -> bool:
    """Whether one of these edits touches what is held."""
    known = list(held)
    return any(item.is_changed_by(edit) for edit in edits for item in known)


def tolerances(script: Script) -> list[Protected]:
    """What the checks of a script allow: arguments, limits in comparisons, and the values of the names in them."""
    arguments = list(_arguments(script))
    limits = list(dict.fromkeys((*_limits(script), *_small_limits(script))))
    held = [_held(script, node, within) for node, within in (*arguments, *limits)]
    names = names_in(node for node, _ in arguments) | _only_there(script, limits)
    held += [_held(script, node, within) for node, within in values_of(script, names)]
    return list(dict.fromkeys(held))


def _held(script: Script, node: ast.AST, within: tuple[int, int]) -> Protected:
    return Protected(*script.span(node), within)


def _arguments(script: Script) -> Iterator[Place]:
    """`rtol=1e-3`, `**TOLERANCES` in a check, the third argument of `allclose`, `{"atol": 1e-4}`."""
    for node in script.nodes:
        if isinstance(node, ast.Call):
            name = called_name(node)
            within = (script.span(node.func)[1], script.span(node)[1])
            is_check = _CHECK.search(name) is not None
            for item in node.keywords:
                if item.arg in _TOLERANCES or (is_check and (item.arg is None or item.arg in _OF_CHECKS)):
                    yield item, within
            for argument in node.args[_BEHIND.get(name, len(node.args)) :]:
                if not isinstance(argument, ast.JoinedStr | ast.Lambda) and string_of(argument) is None:
                    yield argument, within
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in _TOLERANCES:
                    yield from ((item, script.span(node)) for item in (key, value))


def _limits(script: Script) -> Iterator[Place]:
    """What is compared with in `assert error < 1e-4`, `if error > limit: raise ...` and `sys.exit(error > 1e-4)`."""
    for statement in script.nodes:
        if isinstance(statement, ast.Assert):
            asked: ast.AST = statement.test
        elif isinstance(statement, ast.If) and any(map(_ends, (*statement.body, *statement.orelse))):
            asked = statement.test
        elif isinstance(statement, ast.stmt) and _ends(statement):
            asked = statement
        else:
            continue
        for side, node in _sides(ast.walk(asked)):
            if isinstance(side, ast.Name | ast.Attribute) or any(map(is_number, _leaves(side))):
                yield side, script.span(node)


def _small_limits(script: Script) -> Iterator[Place]:
    """What is compared with in `bad = [e for e in errors if e > 1e-4]`, also by a name for it, wherever it stands."""
    for side, node in _sides(script.nodes):
        named = isinstance(side, ast.Name | ast.Attribute)
        stands_for = [item for item, _ in _values(script, names_in([side]))] if named else [side]
        if any(_is_small(leaf) for item in stands_for if isinstance(item, ast.expr) for leaf in _leaves(item)):
            yield side, script.span(node)


def _sides(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.Compare]]:
    """What is compared, in comparisons of size."""
    for node in nodes:
        if isinstance(node, ast.Compare) and any(isinstance(operator, _ORDERS) for operator in node.ops):
            yield from ((side, node) for side in (node.left, *node.comparators))


def _is_small(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < _SMALL


def _ends(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) or (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and called_name(statement.value) in _ENDS
    )


def _only_there(script: Script, limits: Iterable[Place]) -> frozenset[str]:
    """Names in limits that are read nowhere else: a size that is checked may go on to become smaller."""
    places = [within for _, within in limits]
    elsewhere = {
        last_name(node)
        for node in script.nodes
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and not any(start <= script.span(node)[0] and script.span(node)[1] <= end for start, end in places)
    }
    return names_in(node for node, _ in limits) - elsewhere


def values_of(script: Script, names: frozenset[str]) -> list[Place]:
    """The numbers that these names stand for, also through other names; an edit within the place beside it would change one."""
    found: dict[Place, None] = {}
    for _ in range(_MOST_STEPS):
        found |= dict.fromkeys(_values(script, names))
        names = names | names_in(node for node, _ in found)
    return list(found)


def _values(script: Script, names: frozenset[str]) -> Iterator[Place]:
    """Where these names get numbers: assignments, loops, defaults, arguments, options of a command line."""
    for node in script.nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if names_in(targets) & names:
                yield from ((item, script.span(item)) for item in _numbers(node.value))
        elif isinstance(node, ast.For | ast.comprehension) and names_in([node.target]) & names:
            yield from ((item, script.span(item)) for item in ast.walk(node.iter) if is_float(item))
        elif isinstance(node, Function):
            yield from _given(script, node, names)
        elif isinstance(node, ast.keyword) and node.arg in names:
            yield from ((item, script.span(node)) for item in _numbers(node.value))
        elif isinstance(node, ast.Call) and called_name(node) == "add_argument" and _option(node) in names:
            yield from ((item, script.span(node)) for item in node.keywords if item.arg == "default")


def _given(script: Script, node: Function, names: frozenset[str]) -> Iterator[Place]:
    """Defaults of parameters with these names, and what is given for them by position."""
    positional = [*node.args.posonlyargs, *node.args.args]
    for argument, value in defaults_of(node.args):
        if argument.arg in names:
            yield value, (script.span(argument)[0], script.span(value)[1])
    wanted = [number for number, argument in enumerate(positional) if argument.arg in names]
    owner = script.parents[node]
    method = bool(positional) and isinstance(owner, ast.ClassDef)
    name = owner.name if isinstance(owner, ast.ClassDef) and node.name == "__init__" else node.name
    for call in script.calls if wanted else ():
        if called_name(call) == name:
            within = (script.span(call.func)[1], script.span(call)[1])
            chosen = [call.args[number - method] for number in wanted if method <= number < len(call.args) + method]
            yield from ((item, within) for argument in chosen for item in _numbers(argument))


def _numbers(node: ast.expr) -> Iterator[ast.AST]:
    """A number, however it is computed; else the numbers with a point in it, as in a table."""
    leaves = list(_leaves(node))
    if all(is_number(item) or isinstance(item, ast.Name | ast.Attribute) for item in leaves):
        yield node
    else:
        yield from (item for item in ast.walk(node) if is_float(item))


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of arithmetic."""
    if isinstance(node, ast.BinOp):
        yield from (*_leaves(node.left), *_leaves(node.right))
    elif isinstance(node, ast.UnaryOp):
        yield from _leaves(node.operand)
    else:
        yield node


def names_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names and attributes: of `self.tol` the attribute alone."""
    found = [item for node in nodes for item in ast.walk(node) if isinstance(item, ast.Name | ast.Attribute)]
    owners = {item.value for item in found if isinstance(item, ast.Attribute)}
    return frozenset(last_name(item) for item in found if item not in owners)


def _option(node: ast.Call) -> str:
    """`rel_tol` of `add_argument("--rel-tol", ...)`."""
    first = node.args[-1].value if node.args and isinstance(node.args[-1], ast.Constant) else ""
    return str(first).lstrip("-").replace("-", "_")
