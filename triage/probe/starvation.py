"""How long a process could have gone on and got no processor: on a busy machine a limit would count that as its own time. And
how long it has neither worked nor wanted to.

Linux tells both of each thread (`/proc/PID/task/TID/schedstat`: how long it ran, how long it waited, in nanoseconds). What
sleeps, or waits for a lock, waits for no processor: a deadlock is never starved, and stands still.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

LOOK_SECONDS = 0.5
PROC = Path("/proc")
MOST, MOST_SECONDS = 3.0, 90.0  # times its limit that something is waited for besides, and no longer than that
STILL = "still"  # why a limit comes before its time
# Of a run of the script whose like was seen to stand still for ever; of a candidate, which passes within a second or two.
STILL_SECONDS, STILL_CANDIDATE_SECONDS = 20.0, 10.0
GPUS = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/dxg")  # files that a process which uses one keeps open
AT_WORK = 0.1  # of the time that passes: what only looks now and then whether it may go on takes less


def to_spare(timeout: float, left: float) -> float:
    """The seconds that a machine may be too busy for what has this limit, where so many are `left` of all: a short limit is soon
    over, a long one long enough.
    """
    return max(0.0, min(MOST * timeout, MOST_SECONDS, left - timeout))


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
            before, self._known = self._known, {each.name: each.waited for each in _running(root, self._proc)}
            longest = max((waited - before.get(thread, 0.0) for thread, waited in self._known.items()), default=0.0)
            self.seconds += min(longest, passed)
        return self.seconds


class Standstill:
    """Asked again and again while a process runs: for how many seconds it, and all below it, have now done nothing.

    What waits for a disk does something, and so does what has a GPU, which may work while all threads sleep (an event of CUDA's
    with `blocking=True`, as `cudaDeviceScheduleBlockingSync` has it for all). Where the system does not tell, nothing is said to
    stand still.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, proc: Path = PROC) -> None:
        self._clock, self._proc = clock, proc
        self._since = self._looked = clock()
        self._known: dict[str, float] = {}

    def look(self, root: int | None, *, itself: bool = True) -> float:
        """Until the last look, of which there are few. Without `itself` only what is below it counts."""
        passed = self._clock() - self._looked
        if root is not None and passed >= LOOK_SECONDS:
            self._looked += passed
            now = [each for each in _running(root, self._proc) if itself or each.process != str(root)]
            before, self._known = self._known, {each.name: each.ran + each.waited for each in now}
            done = sum(seconds - before.get(thread, 0.0) for thread, seconds in self._known.items())
            if (
                not now
                or done > AT_WORK * passed
                or any(each.state == "D" for each in now)
                or any(_has_a_gpu(self._proc / process) for process in {each.process for each in now})
            ):
                self._since = self._looked
        return self._looked - self._since


class StandsStill:
    """Whether a run is late, of a failure that was seen to stand still: as soon as it has done nothing for so many seconds."""

    def __init__(self, seconds: float, standstill: Standstill | None = None) -> None:
        self.seconds, self._standstill = seconds, standstill or Standstill()

    def __call__(self, written: Sequence[Path], process: int) -> str:
        """`STILL`, or nothing. What is above the `process` of the target watches it, and is not looked at."""
        return STILL if self._standstill.look(process, itself=False) >= self.seconds else ""


class _Thread(NamedTuple):
    """One of a process: the seconds that it ran so far, and waited for a processor, and its state."""

    process: str
    name: str
    ran: float
    waited: float
    state: str


def _running(root: int, proc: Path) -> Iterator[_Thread]:
    """The threads of a process and of all below it."""
    waiting, seen = [str(root)], set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        for thread in _threads(proc / pid):
            with contextlib.suppress(OSError, ValueError, IndexError):
                ran, waited = (thread / "schedstat").read_text().split()[:2]
                state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
                yield _Thread(pid, thread.name, int(ran) / 1e9, int(waited) / 1e9, state)
                waiting += (thread / "children").read_text().split()


def _has_a_gpu(process: Path) -> bool:
    with contextlib.suppress(OSError):
        return any(str(file.readlink()).startswith(GPUS) for file in (process / "fd").iterdir())
    return False


def _threads(process: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list((process / "task").iterdir())
    return []
