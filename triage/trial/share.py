"""A share of the time: what comes after a reduction (the table of settings, the first wrong value) may not cost more than it.

A reproducer whose kernel takes half a minute to compile would otherwise be asked under a dozen settings for longer than it
took to find.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from triage.judge.asking import Budget

LEAST_SECONDS = 60.0
MOST_KEPT_SECONDS = 10.0
# One after the other until a part is named: counted, without it, with fewer applications, and that again.
QUESTIONS = 4.0


@dataclass(frozen=True)
class Share:
    """A budget that is spent at a time of its own (of `now`), too. What has begun then may still end."""

    whole: Budget
    end: float
    now: Callable[[], float] = time.monotonic

    def left(self) -> float:
        return self.whole.left()

    def spent(self) -> bool:
        return self.whole.spent() or self.now() > self.end


class Limit:
    """The budget, and no more than some seconds of it; less what is `kept` of these for what comes after the search."""

    def __init__(self, budget: Budget, seconds: float = math.inf, *, kept: float = 0.0) -> None:
        self._budget, self._began = budget, time.monotonic()
        self._end = self._began + seconds
        self._kept = kept

    def release(self) -> None:
        """What was kept may be spent."""
        self._kept = 0.0

    def at_least(self, seconds: float) -> None:
        """As many seconds from the beginning, if that is more."""
        self._end = max(self._end, self._began + seconds)

    def left(self) -> float:
        return min(self._budget.left(), self._end - time.monotonic()) - self._kept

    def spent(self) -> bool:
        return self.left() <= 0


def share_of(whole: Budget, seconds: float, one: float = 0.0) -> Share:
    """Half of what the reduction took in `seconds`, a minute at least, and time for some questions of `one` each."""
    return Share(whole, time.monotonic() + max(LEAST_SECONDS, seconds / 2, QUESTIONS * one))
