"""How long to wait for a candidate where the failure is a hang: learned from the candidates that pass.

Every candidate that hangs costs the whole limit, so the limit decides how long such a reduction takes. A candidate is a
small part of a program: what passes does so in a second or two. What takes several times as long as the slowest of those
hangs, or its compile time explodes; until one has passed, the limit is that of the program. Once a candidate has exceeded a
learned limit, it stays: a later one that is just within it must not turn what was found into slowness.
"""

from __future__ import annotations

import threading

FACTOR = 2.5
LEAST_SECONDS = 10.0


class Patience:
    """The limit in seconds, never more than `most`, never less than `least`. Threads may share one."""

    def __init__(self, most: float, least: float = LEAST_SECONDS) -> None:
        self._most, self._least = most, min(least, most)
        self._slowest: float | None = None
        self._settled = False
        self._lock = threading.Lock()

    def passed(self, seconds: float) -> None:
        """A candidate ended well after so many seconds."""
        with self._lock:
            if not self._settled:
                self._slowest = max(self._slowest or 0.0, seconds)

    def hung(self) -> None:
        """A candidate did not end within the limit."""
        with self._lock:
            self._settled = self._slowest is not None

    def seconds(self) -> float:
        if self._slowest is None:
            return self._most
        return min(self._most, max(self._least, FACTOR * self._slowest))
