"""Statements carried along with everything they name, transitively, as text that stands by itself.

Functions, classes, constants and imports are taken over from the user's files in their order. A name that another file
of the user's defines is followed into that file; an attribute of such a module (`helpers.scale`) is written as the bare
name. A module-level value that is a plain literal is written as its value. What cannot be found is told in `missing`.
"""

from __future__ import annotations

import ast
import collections
import sys
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from .. import whose
from .units import Statement, Unit, imported_name, unit_of

_CONTAINERS = (list, dict, set, collections.deque)
_LAST = sys.maxsize  # a line after those of any file
_LITERALS = (bool, int, float, str, bytes, type(None))


class Carrier:
    """Collects statements; `text()` gives them in an order that runs. `units` are the user's files by name."""

    def __init__(self, units: Dict[str, Unit], namespaces: Set[str]) -> None:
        self.units, self.namespaces = units, namespaces
        self.imports: Dict[str, None] = {}
        self.missing: List[str] = []
        self._blocks: Dict[str, List[Tuple[Tuple[int, int], str]]] = {}
        self._reads: Dict[str, Dict[str, None]] = {}  # file -> files whose names it uses
        self._done: Set[Any] = set()
        self._owner: Dict[str, str] = {}  # global name -> file that gave it

    def take(self, statement: Statement) -> None:
        """Carry one statement and all it needs."""
        key = statement.key()
        if key in self._done:
            return
        self._done.add(key)
        if isinstance(statement.node, (ast.Import, ast.ImportFrom)):
            for name in statement.binds():
                self._imported(statement, name)
            return
        unit = statement.unit
        blocks = self._blocks.setdefault(unit.file, [])
        edits: Dict[str, str] = {}
        for name in sorted(statement.needs() - set(_own_name(statement))):
            self._name(unit, name, statement, edits)
        for name in statement.binds():
            self._claim(name, unit)
        blocks.append((statement.lines, _edited(statement, edits)))

    def text(self, files: Iterable[str] = ()) -> List[str]:
        """Import lines first, then one string per statement. `files` run in this order, where their names allow it."""
        order: List[str] = []
        for file in [*(file for file in files if file in self._blocks), *self._blocks]:
            self._before(file, order)
        blocks = [text for file in order for _, text in sorted(self._blocks.get(file, []))]
        return list(self.imports) + list(dict.fromkeys(blocks))

    def bind(self, unit: Unit, name: str, text: str, sources: Dict[str, Optional[Unit]]) -> None:
        """A name of a function's own scope becomes a global one, by this statement, after all else of its file.

        `sources`: which file has a name that is carried already; None where it is imported.
        """
        self._done.add(("name", unit.file, name))
        for other, source in sources.items():
            if other not in unit.bindings:
                self._done.add(("name", unit.file, other))
                if source is not None and source is not unit:
                    self._reads.setdefault(unit.file, {})[source.file] = None
        self._claim(name, unit)
        made = Statement.__new__(Statement)
        made.unit, made.node, made.text = unit, ast.parse(text).body[0], text
        made.lines = (_LAST, len(self._blocks.get(unit.file, [])))
        self.take(made)

    def tables(self) -> List[Any]:
        """What the carried names stand for that may be filled elsewhere: containers, objects of the user's classes, and
        classes that know of those made from them.
        """
        values = [self.units[file].namespace.get(name) for name, file in self._owner.items() if file in self.units]
        users = {unit.name for unit in self.units.values()}
        return [
            value
            for value in values
            if not is_literal(value)
            and (isinstance(value, _CONTAINERS) or type(value).__module__ in users or self._knows_subclasses(value))
        ]

    def _knows_subclasses(self, value: Any) -> bool:
        if not isinstance(value, type) or "__init_subclass__" in vars(value):
            return isinstance(value, type)
        return any("%s.__subclasses__" % value.__name__ in text for each in self._blocks.values() for _, text in each)

    def _before(self, file: str, order: List[str], entered: Tuple[str, ...] = ()) -> None:
        """Put a file into the order, after the files whose names it uses."""
        if file in order or file in entered:
            return
        for other in self._reads.get(file, {}):
            self._before(other, order, (*entered, file))
        order.append(file)

    def _claim(self, name: str, unit: Unit) -> None:
        owner = self._owner.setdefault(name, unit.file)
        if owner != unit.file and name != "_":
            self.missing.append("two files define the name %s" % name)

    def _name(self, unit: Unit, name: str, user: Statement, edits: Dict[str, str]) -> None:
        if ("name", unit.file, name) in self._done and name not in _module_names(unit):
            return
        self._done.add(("name", unit.file, name))
        found = unit.bindings.get(name, [])
        if any(isinstance(item.node, (ast.Import, ast.ImportFrom)) for item in found):
            for item in found:
                if isinstance(item.node, (ast.Import, ast.ImportFrom)):
                    self._imported(item, name, user, edits)
        elif (
            found
            and name in unit.namespace
            and is_literal(unit.namespace[name])
            and not _only_literal(found, unit.namespace[name])
        ):
            self._claim(name, unit)
            text = "%s = %r" % (name, unit.namespace[name])
            self._blocks.setdefault(unit.file, []).append((found[0].lines, text))
        elif found:
            for item in found:
                self.take(item)
        else:
            self._unbound(unit, name, user)

    def _unbound(self, unit: Unit, name: str, user: Statement) -> None:
        """No statement binds the name: a star import, a parameter that is a library, or nothing we know of."""
        if name in unit.namespace:
            value = unit.namespace[name]
            home = getattr(value, "__module__", None)
            if isinstance(home, str) and getattr(value, "__name__", None) == name:
                self._from(home, name, name, unit)
                return
            if is_literal(value):
                self._blocks.setdefault(unit.file, []).append(((0, 0), "%s = %r" % (name, value)))
                return
        if _used_as_library(user.node, name) and len(self.namespaces) == 1:
            text = '%s = torch.library.Library("%s", "FRAGMENT")' % (name, next(iter(self.namespaces)))
            self.imports["import torch"] = None
            self._blocks.setdefault(unit.file, []).append(((0, 0), text))
            return
        if name not in ("__name__", "__file__", "__doc__"):
            self.missing.append("nothing in %s says what %s is" % (unit.name, name))

    def _imported(
        self, item: Statement, name: str, user: Optional[Statement] = None, edits: Optional[Dict[str, str]] = None
    ):
        for alias in item.node.names:  # type: ignore[attr-defined]
            if isinstance(item.node, ast.Import) and (alias.asname or alias.name.split(".")[0]) == name:
                self._module(alias.name, alias.asname, item.unit, user, edits)
            elif isinstance(item.node, ast.ImportFrom) and (alias.asname or alias.name) == name:
                module = imported_name(item.node, item.unit)
                if module == "__future__":
                    return
                submodule = sys.modules.get("%s.%s" % (module, alias.name))
                if submodule is not None and _users_unit(self.units, submodule) is not None:
                    self._module("%s.%s" % (module, alias.name), name, item.unit, user, edits)
                else:
                    self._from(module, alias.name, name, item.unit)

    def _module(
        self, module: str, asname: Optional[str], unit: Unit, user: Optional[Statement], edits: Optional[Dict[str, str]]
    ):
        source = _users_unit(self.units, sys.modules.get(module))
        if source is None:
            self.imports["import %s as %s" % (module, asname) if asname else "import %s" % module] = None
            return
        if user is None or edits is None:
            return
        self._reads.setdefault(unit.file, {})[source.file] = None
        prefix = asname or module
        for attribute in _attributes(user.node, prefix):
            edits["%s.%s" % (prefix, attribute)] = attribute
            self._name(source, attribute, user, {})

    def _from(self, module: str, name: str, asname: str, unit: Unit) -> None:
        source = _users_unit(self.units, sys.modules.get(module))
        if source is None:
            tail = "" if name == asname else " as %s" % asname
            self.imports["from %s import %s%s" % (module, name, tail)] = None
            return
        if source.file == unit.file:
            self.missing.append("nothing in %s says what %s is" % (unit.name, name))
            return
        self._reads.setdefault(unit.file, {})[source.file] = None
        holder = Statement.__new__(Statement)
        holder.unit, holder.node, holder.lines = source, ast.Pass(), (-1, -1)
        self._name(source, name, holder, {})
        if name != asname:
            self._blocks.setdefault(unit.file, []).append(((0, 0), "%s = %s" % (asname, name)))


def _users_unit(units: Dict[str, Unit], module: Any) -> Optional[Unit]:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not whose.is_users(file):
        return None
    if file not in units:
        unit = unit_of(module.__name__, module.__dict__, file)
        if unit is None:
            return None
        units[file] = unit
    return units[file]


def _module_names(unit: Unit) -> Set[str]:
    """Names that are modules: each use of one may ask for another attribute."""
    module = type(sys)
    return {name for name, value in list(unit.namespace.items()) if isinstance(value, module)}


def _attributes(node: ast.AST, prefix: str) -> List[str]:
    """The attributes that are read off `prefix`, a dotted name, in a statement."""
    found = []
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and _dotted(item.value) == prefix and item.attr not in found:
            found.append(item.attr)
    return found


def _dotted(node: ast.AST) -> Optional[str]:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return None if head is None else "%s.%s" % (head, node.attr)
    return None


def _edited(statement: Statement, edits: Dict[str, str]) -> str:
    """The statement's text with `module.name` written as `name`."""
    if not edits:
        return statement.text
    places = []
    for item in ast.walk(ast.parse(statement.text)):
        dotted = _dotted(item) if isinstance(item, ast.Attribute) else None
        if dotted in edits:
            places.append((item.lineno, item.col_offset, item.end_lineno, item.end_col_offset, edits[dotted]))
    lines = [line.encode() for line in statement.text.splitlines()]
    for line, start, last, end, name in sorted(places, reverse=True):
        if line == last:
            lines[line - 1] = lines[line - 1][:start] + name.encode() + lines[line - 1][end:]
    return "\n".join(line.decode() for line in lines)


def _own_name(statement: Statement) -> List[str]:
    return statement.binds() if isinstance(statement.node, (ast.FunctionDef, ast.ClassDef)) else []


def is_literal(value: Any, depth: int = 0) -> bool:
    """Whether its `repr` is a short literal of plain values."""
    if isinstance(value, _LITERALS):
        return not isinstance(value, (str, bytes)) or len(value) < 200
    if type(value) in (list, tuple, set, frozenset) and depth < 3 and len(value) < 200:
        return all(is_literal(item, depth + 1) for item in value)
    if type(value) is dict and depth < 3 and len(value) < 200:
        return all(is_literal(key, 3) and is_literal(item, depth + 1) for key, item in value.items())
    return False


def _only_literal(found: List[Statement], value: Any) -> bool:
    """One assignment of a literal, which still holds: it is written as the user did."""
    if len(found) != 1 or not isinstance(found[0].node, (ast.Assign, ast.AnnAssign)):
        return False
    try:
        return bool(ast.literal_eval(found[0].node.value) == value)
    except (ValueError, TypeError, SyntaxError):
        return False


def _used_as_library(node: ast.AST, name: str) -> bool:
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and _dotted(item.value) == name and item.attr in ("define", "impl"):
            return True
        if isinstance(item, ast.Call) and any(
            isinstance(argument, ast.Name) and argument.id == name for argument in item.args
        ):
            return True
    return False
