"""Something that is done again and again beside what goes on, such as a line for who would hear of nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BEAT_SECONDS = 1.0


@contextmanager
def beating(beat: Callable[[], None]) -> Iterator[None]:
    """Inside, `beat` is called every second, in a thread of its own."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(BEAT_SECONDS):
            beat()

    thread = threading.Thread(target=work, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(BEAT_SECONDS)
