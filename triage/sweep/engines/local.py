"""The machine itself: as many processes side by side as it has room for, each in a session of its own."""

from __future__ import annotations

import contextlib
import os
import queue
from concurrent.futures import ThreadPoolExecutor

from triage.probe.launch import Cancel, Launch, launch
from triage.sweep.engines.forked import Forked
from triage.sweep.engines.interface import Done, Work


class LocalEngine:
    """Runs `slots` processes side by side; what is submitted beyond that waits its turn."""

    name = "local"

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._cancel = Cancel()
        self._forked = Forked()
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="sweep")
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()

    def submit(self, work: Work) -> None:
        self._pool.submit(lambda: self._done.put(self._run(work)))

    def wait(self, seconds: float | None = None) -> Done | None:
        try:
            return self._done.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        self._cancel.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._forked.close()

    def _run(self, work: Work) -> Done:
        with contextlib.suppress(OSError):
            work.log.parent.mkdir(parents=True, exist_ok=True)
            done = self._forked.run(work, self._cancel)
            if done is not None:
                return done
        return run_here(work, self._cancel)


def run_here(work: Work, cancel: Cancel | None = None) -> Done:
    """Run it on this machine, to its end or its limit. Whatever goes wrong is told, not raised: the others go on."""
    try:
        work.log.parent.mkdir(parents=True, exist_ok=True)
        ended = launch(
            Launch(
                argv=work.argv,
                cwd=work.cwd,
                env={**os.environ, **work.env},
                stdout=work.log,
                stderr=work.log.with_suffix(".err.log"),
                timeout=work.timeout,
                grace=work.grace,
            ),
            cancel,
        )
    except Exception as error:  # noqa: BLE001  one script's trouble is not the sweep's
        return Done(work.name, None, 0.0, error=f"{type(error).__name__}: {error}")
    return Done(work.name, ended.code, ended.seconds, ended.timed_out, ended.cancelled, ended.error)
