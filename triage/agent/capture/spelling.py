"""A value made while the program runs, as an expression that makes it again: a function inside another, an object, a partial.

What a function closes over becomes global names beside it; an object is made by its class from the attributes that are called
like the parameters. Whether such a text does the same is not known here: the failure is asked of it.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import itertools
import types
from typing import Any, Dict, List, Optional, Tuple

from .. import compat
from .carry import Carrier, is_literal
from .targets import printable
from .units import Statement, Unit

_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


class UnspelledError(Exception):
    """No expression is known for a value."""


class Speller:
    """Gives expressions, and has the carrier carry what they name. `order` holds the user's files."""

    def __init__(self, carrier: Carrier, order: List[Unit]) -> None:
        self.carrier, self.order = carrier, order
        self._texts: Dict[Tuple[str, str], str] = {}  # of each name of a file that became a global one
        self._sources: Dict[str, Optional[Unit]] = {}  # what the expressions name, and the file that has it
        self._made: List[Tuple[Any, str]] = []  # each value that was given a global name, and that name

    def spell(self, value: Any) -> str:
        """An expression for a value. Raises UnspelledError where there is none."""
        if is_literal(value):
            return repr(value)
        made = next((name for known, name in self._made if known is value), "")
        return made or self._named(value) or self._of_its_kind(value)

    def _of_its_kind(self, value: Any) -> str:
        if type(value) in (list, tuple, set):
            items = [self.spell(item) for item in value]
            if not items or type(value) is tuple:
                return "%s([%s])" % (type(value).__name__, ", ".join(items))
            return ("[%s]" if type(value) is list else "{%s}") % ", ".join(items)
        if type(value) is dict:
            return "{%s}" % ", ".join("%s: %s" % (self.spell(key), self.spell(item)) for key, item in value.items())
        if isinstance(value, functools.partial):
            self._import("functools")
            given = [self.spell(value.func), *self._given(value.args, value.keywords)]
            return "functools.partial(%s)" % ", ".join(given)
        if isinstance(value, types.MethodType):
            return "%s.%s" % (self.spell(value.__self__), value.__name__)
        if isinstance(value, enum.Enum):
            return "%s.%s" % (self._named(type(value)) or self._torchs(type(value)), value.name)
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, types.FunctionType):
            return self._torchs(value) or self._function(value)
        return self._torchs(value) or self._object(value)

    def _given(self, args: Any, keywords: Dict[str, Any]) -> List[str]:
        named = ["%s=%s" % (name, self.spell(item)) for name, item in keywords.items()]
        return [self.spell(item) for item in args] + named

    def _named(self, value: Any) -> str:
        """What it is called in one of the files."""
        for unit in self.order:
            for name, known in list(unit.namespace.items()):
                bound = [item for item in unit.bindings.get(name, []) if not isinstance(item.node, _IMPORTS)]
                if known is value and bound:
                    for item in bound:
                        self.carrier.take(item)
                    self._sources[name] = unit
                    return name
        return ""

    def _torchs(self, value: Any) -> str:
        """What torch, `operator` or `math` call it."""
        if type(value).__module__ == "torch" and repr(value).startswith("torch."):  # a dtype
            self._import("torch")
            return repr(value)
        home, registered = str(getattr(value, "__module__", "")).split(".")[0], getattr(value, "__name__", None)
        if home == "torch" and registered and compat.registered_backend(registered) is value:
            module, text = compat.spelled_backend(registered)
            self._import(module)
            return text
        name = printable(value)[0] if home in ("torch", "_operator", "math", "builtins") else ""
        if name:
            private = "._" in name  # torch does not import all of these itself
            self._import(name.rpartition(".")[0] if private else name.split(".")[0])
        return name

    def _import(self, module: str) -> None:
        self.carrier.imports["import %s" % module] = None
        self._sources[module.split(".")[0]] = None

    def _module(self, module: types.ModuleType) -> str:
        """One that was imported inside a function. Of the program's own none is there where the text runs."""
        if any(unit.file == getattr(module, "__file__", None) for unit in self.order):
            raise UnspelledError("%s is the program's own" % module.__name__)
        self._import(module.__name__)
        return module.__name__

    def _function(self, function: Any) -> str:
        unit, node = self._definition(function.__code__)
        taken = {name for each in self.order for name in each.bindings} | {name for _, name in self._texts}
        free = (name for name in map("function_{}".format, itertools.count(1)) if name not in taken)
        name = node.name if isinstance(node, ast.FunctionDef) else next(free)
        if name in unit.bindings:
            raise UnspelledError("%s is the name of something else" % name)
        self._made.append((function, name))  # it may close over itself
        for inner, value in inspect.getclosurevars(function).nonlocals.items():
            expression = self.spell(value)
            if expression != inner:
                self._global(unit, inner, "%s = %s" % (inner, expression))
        statement = Statement(unit, node) if isinstance(node, ast.FunctionDef) else None
        self._global(unit, name, statement.text if statement else "%s = %s" % (name, ast.unparse(node)))
        return name

    def _global(self, unit: Unit, name: str, text: str) -> None:
        if name in unit.bindings:
            raise UnspelledError("%s is the name of something else" % name)
        if self._texts.setdefault((unit.file, name), text) != text:
            raise UnspelledError("%s has two values" % name)
        self.carrier.bind(unit, name, text, self._sources)

    def _definition(self, code: types.CodeType) -> Tuple[Unit, Any]:
        """Where a function inside another is written: one without decorators, or the only lambda of its line."""
        found = [
            (unit, node)
            for unit in self.order
            if unit.file == code.co_filename
            for node in ast.walk(unit.tree)
            if isinstance(node, _FUNCTIONS)
            and (getattr(node, "name", "<lambda>"), node.lineno) == (code.co_name, code.co_firstlineno)
        ]
        if len(found) != 1:
            raise UnspelledError("no single place defines %s" % code.co_name)
        return found[0]

    def _object(self, value: Any) -> str:
        kind = type(value)
        made = self._named(kind)
        if not made:
            raise UnspelledError("%s is no class of the program's" % kind.__name__)
        given = {}
        for name, parameter in list(inspect.signature(kind).parameters.items()):
            has = [each for each in (name, "_" + name) if each in vars(value)]
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if has and vars(value)[has[0]] is not parameter.default:
                given[name] = vars(value)[has[0]]
            elif not has and parameter.default is parameter.empty:
                raise UnspelledError("%s keeps no %s" % (made, name))
        return "%s(%s)" % (made, ", ".join(self._given((), given)))


def spelled(value: Any, carrier: Carrier, order: List[Unit]) -> Optional[str]:
    """An expression for a value; None where there is none."""
    try:
        return Speller(carrier, order).spell(value)
    except (UnspelledError, RecursionError, TypeError, ValueError):
        return None
