"""Wall-clock and processor time of a piece of work that is done by child processes.

On a machine that others use too, wall-clock time says little by itself; the processor time of the children says what the
work cost. It counts processes that have ended and were waited for, by us or by their own parents; one that left its
parent behind is missed.
"""

from __future__ import annotations

import resource
import time
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
