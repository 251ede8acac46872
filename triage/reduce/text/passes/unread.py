"""What is kept and never read: attributes of `self`, names, definitions, and what only they need, all at once.

Found as a garbage collector finds it: a statement is needed if it does something else than keep a value, or if what it
keeps is read by something needed. That is a guess (what is computed may act by being computed: draw random numbers,
register a parameter), which is right so often that one candidate takes away what `statements` needs thirty for.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.names import Occurrences, Scope
from triage.reduce.text.code.nodes import bound_name, pairs_of, string_of
from triage.reduce.text.code.own_names import is_module
from triage.reduce.text.code.script import Definition, Edit, Function, Script
from triage.reduce.text.passes.choice import Choice, never_stricter, one

_FILLS = frozenset({"add", "append", "appendleft", "extend", "insert", "setdefault", "update"})
_CALLED_BY_TORCH = frozenset({"backward", "forward", "jvp", "setup_context", "vjp", "vmap"})
Place = tuple[Scope | None, str]  # a name of a scope; an attribute of whatever object belongs to none


@never_stricter
def propose(script: Script) -> Iterator[Choice]:
    keeping = _Keeping(script)
    dead = keeping.dead()
    gone = {id(unit.statement) for unit in dead if unit.pair is None}
    parts: dict[int, list[_Unit]] = {}
    for unit in dead:
        whole = unit.table or unit.statement
        if not any(id(above) in gone for above in script.above(whole)):
            parts.setdefault(id(whole), []).append(unit)
    for units in parts.values():
        yield one(_without(script, units))


@dataclass(frozen=True, eq=False)
class _Unit:
    """A statement that only keeps something (`pair`: that part of `a, b = x, y`), and the places where it does.

    One without places does nothing at all: nothing can need it. What a `table` has under a path (`{"first.bias": b}`, as modules
    name their parameters) is kept for what reads each of the names in it.
    """

    statement: ast.stmt
    places: tuple[Place, ...]
    pair: int | None = None
    table: ast.Dict | None = None

    def is_read(self, needed: set[Place]) -> bool:
        return (any if self.table is None else all)(place in needed for place in self.places)


class _Keeping:
    """The statements of a script that only keep a value, and what is read where."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._names = Occurrences(script)
        self._modules = {node.name for node in script.tree.body if isinstance(node, ast.ClassDef) and is_module(node)}
        self._imported = {
            bound_name(alias): alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            for node in script.nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        self._filled: set[ast.AST] = set()  # what a unit adds to, which is no reading of it
        self._units = [unit for statement, _ in script.statements() for unit in self._of(statement)]
        self._units += [unit for node in script.nodes if isinstance(node, ast.Dict) for unit in self._under_paths(node)]
        self._inside: dict[ast.AST, _Unit] = {}
        for unit in self._units:
            for node in _nodes_of(unit):
                self._inside[node] = unit

    def dead(self) -> list[_Unit]:
        """Units that nothing needed reads."""
        alive, needed = set[_Unit](), set[Place]()
        reads, grown = list(self._reads()), True
        while grown:
            needed |= {place for place, around in reads if alive.issuperset(around)}
            found = {unit for unit in self._units if unit not in alive and unit.is_read(needed)}
            reads = [(place, around) for place, around in reads if place not in needed]
            alive |= found
            grown = bool(found)
        return [unit for unit in self._units if unit not in alive]

    def _reads(self) -> Iterator[tuple[Place, tuple[_Unit, ...]]]:
        """Each reading of a place, and the units it stands in, the innermost first."""
        for node in self._script.nodes:
            places: list[Place] = []
            if node in self._filled:
                continue
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                places = [(self._names.owners.get(node), node.id)]
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                places = [(None, node.attr)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                places = [(None, node.value), (self._names.module, node.value)]
                places += [(None, part) for part in node.value.split(".")]
            if places:
                chain = (node, *self._script.above(node))
                around = tuple(dict.fromkeys(unit for item in chain if (unit := self._inside.get(item)) is not None))
                yield from ((place, around) for place in places)

    # -- units ----------------------------------------------------------------------------------------------------

    def _of(self, statement: ast.stmt) -> Iterator[_Unit]:
        if _says_nothing(statement) or self._makes_module(statement):
            yield _Unit(statement, ())
            return
        if isinstance(statement, Definition):
            places = self._defined(statement)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and pairs_of(statement):
            for number, (target, _) in enumerate(pairs_of(statement)):
                kept = self._kept([target])
                if kept:
                    yield _Unit(statement, tuple(kept), number)
            return
        elif isinstance(statement, ast.Assign | ast.Delete):
            places = self._kept(statement.targets)
        elif isinstance(statement, ast.AugAssign):
            places = self._kept([statement.target])
        elif isinstance(statement, ast.AnnAssign):
            of_class = isinstance(self._script.parents[statement], ast.ClassDef)  # it may be a parameter of __init__
            places = [] if of_class else self._kept([statement.target])
        elif isinstance(statement, ast.Expr) and _fills(statement.value):
            places = self._filled_place(statement.value.func.value)  # type: ignore[attr-defined]
        else:
            return
        if places:
            yield _Unit(statement, tuple(places))

    def _under_paths(self, table: ast.Dict) -> Iterator[_Unit]:
        for number, key in enumerate(table.keys):
            parts = (string_of(key) or "").split(".") if key is not None else []
            if len(parts) > 1:
                yield _Unit(self._script.statement_of(table), tuple((None, part) for part in parts), number, table)

    def _makes_module(self, statement: ast.stmt) -> bool:
        """`Attention()`, which is left of what kept it."""
        made = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id in self._modules

    def _defined(self, node: Definition) -> list[Place]:
        """A definition, unless what runs it may be hidden in a decorator."""
        if node.name.startswith("__") or node.name in _CALLED_BY_TORCH:
            return []
        if not all(map(self._hides_nothing, node.decorator_list)):
            return []
        scope = self._names.owners.get(node)
        if isinstance(self._script.parents[node], ast.ClassDef):
            return [(None, node.name), (scope, node.name)]
        return [] if scope is None or isinstance(node, ast.AsyncFunctionDef) else [(scope, node.name)]

    def _hides_nothing(self, mark: ast.expr) -> bool:
        """Whether it is Python's own (`dataclass`, `property`): but for `atexit.register`, these register nothing."""
        first, _, rest = ast.unparse(mark.func if isinstance(mark, ast.Call) else mark).partition(".")
        imported = self._imported.get(first)
        if imported is None:
            return not rest and first in vars(builtins) and not any(place.binds for place in self._names.of(first))
        registers = (rest or imported).rpartition(".")[2] == "register"
        return imported.partition(".")[0] in sys.stdlib_module_names and not registers

    def _kept(self, targets: Iterable[ast.expr]) -> list[Place]:
        """Where these targets keep something; nothing where one of them does more."""
        found: list[Place] = []
        for target in targets:
            if isinstance(target, ast.Tuple | ast.List):
                places = self._kept(target.elts)
            elif isinstance(target, ast.Subscript):
                places = self._filled_place(target.value)
            else:
                places = self._filled_place(target)
            if not places:
                return []
            found += places
        return found

    def _filled_place(self, node: ast.expr) -> list[Place]:
        """The place that a name or an attribute of `self` stands for."""
        self._filled.add(node)
        if isinstance(node, ast.Name) and not node.id.startswith("__"):
            scope = self._names.owners.get(node)
            places: list[Place] = [(scope, node.id)]
            return [*places, (None, node.id)] if scope is not None and isinstance(scope.node, ast.ClassDef) else places
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and self._is_self(node.value):
            return [(None, node.attr)]
        self._filled.discard(node)
        return []

    def _is_self(self, name: ast.Name) -> bool:
        scope = self._names.owners.get(name)
        if scope is None or not isinstance(scope.node, Function):
            return False
        first = [*scope.node.args.posonlyargs, *scope.node.args.args][:1]
        method = isinstance(self._script.parents[scope.node], ast.ClassDef)
        return method and bool(first) and first[0].arg == name.id


def _says_nothing(statement: ast.stmt) -> bool:
    """`a`, `1.0` and `a = a`, which are left of what said more; no text, it may be a docstring."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
        return [ast.unparse(target) for target in statement.targets] == [statement.value.id]
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Name) or (isinstance(value, ast.Constant) and not isinstance(value.value, str))


def _fills(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLS


def _nodes_of(unit: _Unit) -> list[ast.AST]:
    if unit.pair is None:
        return [unit.statement]
    if unit.table is not None:
        return [item for item in (unit.table.keys[unit.pair], unit.table.values[unit.pair]) if item is not None]
    assert isinstance(unit.statement, ast.Assign)
    return list(pairs_of(unit.statement)[unit.pair])


def _without(script: Script, units: list[_Unit]) -> Edit:
    """The statement without these of its parts."""
    statement, pairs = units[0].statement, {unit.pair for unit in units}
    if units[0].table is not None:
        return _fewer_items(script, units[0].table, pairs)
    whole = None in pairs
    if not whole and isinstance(statement, ast.Assign):
        left = [pair for number, pair in enumerate(pairs_of(statement)) if number not in pairs]
        if left:
            targets, values = ([script.source(item) for item in side] for side in zip(*left, strict=True))
            return Edit(*script.span(statement), f"{', '.join(targets)} = {', '.join(values)}")
    return deletion(script, statement)


def _fewer_items(script: Script, table: ast.Dict, gone: set[int | None]) -> Edit:
    """A dictionary without these of its items; the others stay as they are written."""
    start, end = script.span(table)
    items = zip(table.keys, table.values, strict=True)
    places = [(script.span(key or value)[0] - (0 if key else 2), script.span(value)[1]) for key, value in items]
    text = script.text[start : places[0][0]]
    left = [number for number in range(len(places)) if number not in gone]
    for number in left:
        between = places[number - 1][1] if number != left[0] else places[number][0]
        text += script.text[between : places[number][1]]
    return Edit(start, end, text + script.text[places[-1][1] : end] if left else "{}")
