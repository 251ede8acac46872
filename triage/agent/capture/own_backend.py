"""The backend that a program brings, as text that stands by itself: the name it goes by, and the statements that give it.

It is known by a name of the program's own files (a function, an object, what was assigned from a call, a method of such an
object), or made again by an expression (`spelling`). Carried are its statements with all that they name (`carry`), and what
fills the tables among it (`filling`). A backend that is not known so has no text here.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Optional, Tuple

from .. import compat
from . import effects
from .carry import Carrier
from .filling import fillings
from .spelling import spelled

_ROUNDS = 5  # a table that is filled may bring another

_known: Dict[Any, Tuple[Any, List[str]]] = {}  # with the backend, so that no other takes its place in memory


def carried(backend: Any, given: Optional[Dict[str, Any]] = None) -> List[str]:
    """An expression for it, then the import lines and statements that it needs; nothing where that cannot be told.

    `given` is what it is called with beside a graph and inputs (`options`): the expression binds it, as no other backend that a
    person may put in its place knows of that.
    """
    if isinstance(backend, str):
        backend = compat.registered_backend(backend)
    if backend is None:
        return []
    key = id(backend), repr(given)
    if key not in _known:
        try:
            _known[key] = backend, _carried(functools.partial(backend, **given) if given else backend)
        except Exception:  # its graphs can be told without it
            _known[key] = backend, []
    return _known[key][1]


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
