"""The backend that a program brings, as text that stands by itself: the name it goes by, and the statements that give it.

It is known by a name of the program's own files (a function, an object, what was assigned from a call, a method of such an
object), or made again by an expression (`spelling`). Carried are its statements with all that they name (`carry`), and what
fills the tables among it (`filling`). A backend that is not known so has no text here.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from .. import compat
from . import effects
from .carry import Carrier
from .filling import fillings
from .spelling import spelled

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
    carrier = Carrier(units, set())
    expression = spelled(backend, carrier, order)
    for _ in range(_ROUNDS):
        for statement in fillings(units, order, carrier.tables()):
            carrier.take(statement)
    text = carrier.text([unit.file for unit in order])
    if not expression or carrier.missing or len(text) == len(carrier.imports):  # nothing of it is the program's
        return []
    return [expression, *text]
