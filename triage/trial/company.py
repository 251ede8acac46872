"""Who runs beside whom: what ran out of a memory that it shared is asked again with nobody beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stay:
    """One candidate's run; `in_company` once another ran at the same time."""

    def __init__(self) -> None:
        self.in_company = False


class Company:
    """Lets many run together, or one alone; who waits to be alone goes before those who come later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stays: set[Stay] = set()
        self._one_alone = False

    @contextmanager
    def together(self) -> Iterator[Stay]:
        stay = Stay()
        with self._changed:
            self._changed.wait_for(lambda: not self._one_alone)
            self._stays.add(stay)
            if len(self._stays) > 1:
                for each in self._stays:
                    each.in_company = True
        try:
            yield stay
        finally:
            with self._changed:
                self._stays.discard(stay)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._one_alone)
            self._one_alone = True
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._stays)
            yield
        finally:
            with self._changed:
                self._one_alone = False
                self._changed.notify_all()
