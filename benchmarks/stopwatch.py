"""Wall-clock and processor time of a piece of work that is done by child processes.

On a machine that others use too, wall-clock time says little by itself; the processor time of the children says what the
work cost. It counts processes that have ended and were waited for, by us or by their own parents; one that left its
parent behind is missed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from pathlib import Path
from types import TracebackType


class Stopwatch:
    """A context manager. `seconds` and `cpu` are in seconds; `cpu` is complete once the children have been waited for."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu = 0.0

    def __enter__(self) -> Stopwatch:
        self._began = time.monotonic()
        self._used = _children()
        return self

    def lap(self) -> None:
        """Stop the wall clock: what follows only tidies up."""
        self.seconds = time.monotonic() - self._began

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.seconds:
            self.lap()
        self.cpu = _children() - self._used


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tree_cpu(root: int) -> float:
    """Processor seconds until now of a living process, of all below it, and of those of them that were waited for.

    From Linux's /proc. A parent is read before its children: one that ends in between is missed for once, never counted twice.
    """
    found: dict[int, tuple[int, float]] = {}
    for pid in sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        with contextlib.suppress(OSError):
            # After the name, which may hold anything: state, parent, ..., utime, stime, cutime, cstime (proc_pid_stat(5)).
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[pid] = (int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))
    members, before = {root}, 0
    while len(members) > before:
        before = len(members)
        members |= {pid for pid, (parent, _) in found.items() if parent in members}
    return sum(seconds for pid, (_, seconds) in found.items() if pid in members)
