"""How long a process could have gone on and got no processor: on a busy machine a limit would count that as its own time.

Linux tells it of each thread (`/proc/PID/task/TID/schedstat`, the second number, in nanoseconds). What sleeps, or waits for a
lock, waits for no processor: a deadlock is never starved.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

LOOK_SECONDS = 0.5
PROC = Path("/proc")
MOST, MOST_SECONDS = 3.0, 90.0  # times its limit that something is waited for besides, and no longer than that


def to_spare(timeout: float) -> float:
    """The seconds that a machine may be too busy for what has this limit: a short one is soon over, a long one long enough."""
    return min(MOST * timeout, MOST_SECONDS)


class Starved:
    """Asked again and again while a process runs: the seconds in which it, and all below it, had to wait so far.

    Threads wait side by side: of those between two looks, the one counts that waited longest.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, proc: Path = PROC) -> None:
        self._clock, self._proc = clock, proc
        self._known: dict[str, float] = {}
        self._looked = clock()
        self.seconds = 0.0

    def look(self, root: int | None) -> float:
        """Until the last look, of which there are few."""
        passed = self._clock() - self._looked
        if root is not None and passed >= LOOK_SECONDS:
            self._looked += passed
            before, self._known = self._known, _waits(root, self._proc)
            longest = max((waited - before.get(thread, 0.0) for thread, waited in self._known.items()), default=0.0)
            self.seconds += min(longest, passed)
        return self.seconds


def _waits(root: int, proc: Path) -> dict[str, float]:
    """Thread -> seconds that it waited for a processor so far, of a process and all below it."""
    found: dict[str, float] = {}
    waiting, seen = [str(root)], set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        with contextlib.suppress(OSError):
            for thread in (proc / pid / "task").iterdir():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
                    waiting += (thread / "children").read_text().split()
    return found
