"""Runs of the script in threads of their own, beside the questions to its captured graph: they confirm what that told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from triage.model.rungs import Rung
from triage.probe.launch import Cancel

Visit = Callable[[Sequence[Rung], Cancel], None]


class _Group(NamedTuple):
    """Rungs that were begun together."""

    rungs: tuple[Rung, ...]
    cancel: Cancel
    pool: ThreadPoolExecutor
    runs: Future[None]

    def stop(self) -> None:
        self.cancel.set()
        self.pool.shutdown(wait=True)


class Beside:
    """What runs beside. What it shows is added to the walk as it is learned, by `visit`."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """Those that were begun and not yet waited for."""
        return tuple(rung for group in self._groups for rung in group.rungs)

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return any(not group.runs.done() for group in self._groups)

    def begin(self, rungs: Sequence[Rung], visit: Visit, cancel: Cancel) -> None:
        """Begin with these rungs, and return. `cancel` ends them as `stop` does."""
        own = Cancel(cancel)
        pool = ThreadPoolExecutor(1, thread_name_prefix="confirm")
        self._groups.append(_Group(tuple(rungs), own, pool, pool.submit(visit, tuple(rungs), own)))

    def join(self) -> None:
        """Wait for them all. Raises what they raised."""
        while self._groups:
            group = self._groups[0]
            try:
                while not wait([group.runs], timeout=0.2).done:
                    pass  # in pieces: ctrl-C is seen between them
                group.runs.result()
            finally:
                group.stop()
            self._groups.pop(0)

    def stop(self) -> None:
        """End what still runs."""
        while self._groups:
            self._groups.pop().stop()
