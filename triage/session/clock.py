"""The time that a run may take."""

from __future__ import annotations

import time


class Clock:
    """A time budget in seconds; 0 means no limit."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._limit = seconds or float("inf")

    def left(self) -> float:
        return self._limit - (time.monotonic() - self._began)

    def spent(self) -> bool:
        return self.left() <= 0

    def end(self) -> float:
        """The time of `time.monotonic` at which it is spent."""
        return self._began + self._limit

    def elapsed(self) -> float:
        return time.monotonic() - self._began


class BudgetSpentError(Exception):
    """The budget of the run has ended; what is known goes into a partial report."""
