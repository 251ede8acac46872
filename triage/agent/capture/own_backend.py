"""The backend that a program brings, as text that stands by itself: the name it goes by, and the statements that give it.

It must be known by a name of the program's own files: a function, an object, or what was assigned from a call; a method of
such an object; or a function inside another that closes over nothing. Carried are its statements with all that they name
(`carry`), and what fills the tables among it (`filling`). A backend that is not known so has no text here.
"""

from __future__ import annotations

import ast
import types
from typing import Any, Dict, Iterator, List, Tuple

from .. import compat
from . import effects
from .carry import Carrier
from .filling import fillings
from .units import Statement, Unit

_IMPORTS = (ast.Import, ast.ImportFrom)
_ROUNDS = 5  # a table that is filled may bring another

_known: Dict[int, Tuple[Any, List[str]]] = {}  # with the backend, so that no other takes its place in memory


def carried(backend: Any) -> List[str]:
    """An expression for it, then the import lines and statements that it needs; nothing where that cannot be told."""
    if isinstance(backend, str):
        backend = compat.registered_backend(backend)
    if backend is None:
        return []
    if id(backend) not in _known:
        try:
            _known[id(backend)] = backend, _carried(backend)
        except Exception:  # its graphs can be told without it
            _known[id(backend)] = backend, []
    return _known[id(backend)][1]


def _carried(backend: Any) -> List[str]:
    units, order = effects.files()
    expression, statements = next(_named(order, backend), ("", []))
    carrier = Carrier(units, set())
    for _ in range(_ROUNDS):
        for statement in statements:
            carrier.take(statement)
        statements = fillings(units, order, carrier.tables())
    if not expression or carrier.missing:
        return []
    return [expression, *carrier.text([unit.file for unit in order])]


def _named(order: List[Unit], backend: Any) -> Iterator[Tuple[str, List[Statement]]]:
    """What it is called in one of the files, and the statements that bind that name."""
    method = isinstance(backend, types.MethodType)
    owner = backend.__self__ if method else backend
    for unit in order:
        for name, value in list(unit.namespace.items()):
            bound = [item for item in unit.bindings.get(name, []) if not isinstance(item.node, _IMPORTS)]
            if value is owner and bound:
                yield ("%s.%s" % (name, backend.__name__) if method else name), bound
    code = getattr(backend, "__code__", None)
    if isinstance(code, types.CodeType) and not code.co_freevars:
        for unit in (unit for unit in order if unit.file == code.co_filename):
            for node in ast.walk(unit.tree):
                if isinstance(node, ast.FunctionDef) and (node.name, node.lineno) == (
                    code.co_name,
                    code.co_firstlineno,
                ):
                    yield node.name, [Statement(unit, node)]
