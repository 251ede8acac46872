"""The first way round, begun before its turn: the script with that change gets ready beside what is asked of the reproducer.

Its imports, its data and its model take what they take, and which change comes first is known once the reproducer is verified,
unless a setting turns out to cure it. It waits at its first compiled call, so what it does from there on is measured alone. One
of which nothing will be measured, as the program calls what it compiles too few times, goes on to its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from triage.probe.launch import Cancel
from triage.probe.run import Probe, go_on

Run = Callable[[Cancel, Callable[[Path], None]], Probe]


class WayAhead:
    """A run of the script with a change, in a thread of its own. `run` is given what ends it, and what to tell its channel."""

    def __init__(self, name: str, run: Run, cancel: Cancel) -> None:
        self.name = name
        self._cancel = Cancel(cancel)
        self._channel: Path | None = None
        self._told = False
        self._lock = threading.Lock()
        self._probe: Future[Probe] = Future()
        self._thread = threading.Thread(target=self._work, args=(run,), name="way", daemon=True)
        self._thread.start()

    def _work(self, run: Run) -> None:
        try:
            self._probe.set_result(run(self._cancel, self._begun))
        except BaseException as error:  # noqa: BLE001  raised where it is asked for
            self._probe.set_exception(error)

    def _begun(self, channel: Path) -> None:
        with self._lock:
            self._channel = channel
            told = self._told
        if told:
            go_on(channel)

    @property
    def expired(self) -> bool:
        """Whether it came to an end before its turn."""
        return not self._told and self._probe.done()

    def result(self) -> Probe:
        """Have it go on, and wait for its end."""
        with self._lock:
            self._told = True
            channel = self._channel
        if channel is not None:
            go_on(channel)
        return self._probe.result()

    def drop(self) -> None:
        """Another change comes first, or none. Returns once nothing of it runs."""
        self._cancel.set()
        self._thread.join()
