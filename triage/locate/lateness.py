"""When to wait no longer for the first run of a script: long before the time limit, where it cannot but hang.

That is known once the uncompiled run beside it has passed. The first one is late when it takes many times as long, a good part of
the limit besides, and nothing has been heard of it lately: no output, no log of the compiler's, no event of the agents. A slow
compile is heard of graph by graph and pass by pass, and is left its whole limit.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FACTOR = 10.0  # times what the uncompiled run took
SHARE_OF_LIMIT = 0.4
SILENT_SECONDS = 40.0
LOOK_SECONDS = 1.0


class Lateness:
    """Asked again and again while the run goes on, with the files and folders that it writes into.

    `limit` is that of the run in seconds, `passed` gives the seconds that the uncompiled run took, once it has passed.
    """

    def __init__(
        self, limit: float, passed: Callable[[], float | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._least = SHARE_OF_LIMIT * limit
        self._passed = passed
        self._clock = clock
        self._began = self._heard = clock()
        self._next_look = self._began + self._least - SILENT_SECONDS  # nothing that is heard until then counts
        self._sizes: list[tuple[Path, int]] = []

    def __call__(self, written: Sequence[Path]) -> bool:
        now = self._clock()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_SECONDS
        sizes = sorted(_sizes(written))
        if sizes != self._sizes:
            self._sizes, self._heard = sizes, now
        seconds = self._passed()
        if seconds is None:
            return False
        return now - self._began >= max(self._least, FACTOR * seconds) and now - self._heard >= SILENT_SECONDS


def _sizes(written: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    for path in written:
        with contextlib.suppress(OSError):
            for file in path.iterdir() if path.is_dir() else (path,):
                yield file, file.stat().st_size
