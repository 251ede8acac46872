"""A Ray cluster: each process is a task of Ray's, on whichever node has room.

Ray's own end of a task may leave grandchildren behind (its sub-reaper is off by default, ray-project/ray#42861). Here every
process has a supervisor that ends it when whoever started it is gone. Only Ray kills the children of a worker that it ends, and
the supervisor is one: that is switched off, and a task is asked to end before it is made to. All nodes see the same files, and
have the same interpreter at the same place.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from typing import Any

from triage.errors import UsageError
from triage.sweep.engines.interface import Done, Work, imported
from triage.sweep.engines.local import run_here

POLL_SECONDS = 1.0  # at most as long as an interrupt waits
ASKED_SECONDS, LAST_SECONDS = 20.0, 15.0  # for what was asked, then made, to end
REACHED_SECONDS = 10.0
SPARING = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}
_PLACE = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d+)")


class RayEngine:
    """The cluster at `address` ("auto" for the one this machine belongs to); without one a cluster on this machine.

    Raises UsageError where Ray is not installed or cannot be reached.
    """

    name = "ray"

    def __init__(self, address: str | None = None, slots: int | None = None) -> None:
        self._ray = imported("ray", "Ray", "ray")
        try:
            _check_reachable(address)
            self._ray.init(
                address=address,
                log_to_driver=False,
                configure_logging=False,
                runtime_env=SPARING,
                **({} if address else {"include_dashboard": False}),
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise UsageError(
                what=f"The Ray cluster {address or 'on this machine'} cannot be used.",
                why=f"{type(error).__name__}: {error}",
                next="Name another --address, or leave --engine out to use this machine.",
            ) from error
        self.slots = slots or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._running: dict[Any, tuple[Work, float]] = {}

    def submit(self, work: Work) -> None:
        # What is lost is run again by who asked.
        task = self._ray.remote(run_here).options(num_cpus=work.cores, max_retries=0)
        self._running[task.remote(work)] = (work, time.monotonic())

    def wait(self, seconds: float | None = None) -> Done | None:
        end = None if seconds is None else time.monotonic() + seconds
        while self._running:
            left = POLL_SECONDS if end is None else min(POLL_SECONDS, max(0.0, end - time.monotonic()))
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=left)
            if ready:
                return self._told(ready[0])
            if end is not None and time.monotonic() >= end:
                return None
        return None

    def _told(self, reference: Any) -> Done:
        work, began = self._running.pop(reference)
        try:
            done: Done = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:  # a node or a worker that is gone; our own task raises nothing
            words = str(error).strip().splitlines() or [""]
            return Done(
                work.name, None, time.monotonic() - began, lost=True, error=f"{type(error).__name__}: {words[0]}"
            )
        return done

    def close(self) -> None:
        left = list(self._running)
        for force, seconds in ((False, ASKED_SECONDS), (True, LAST_SECONDS)):
            for reference in left:
                with contextlib.suppress(Exception):  # it may just have ended
                    self._ray.cancel(reference, force=force)
            if left:
                _, left = self._ray.wait(left, num_returns=len(left), timeout=seconds)
        self._running = {}
        self._ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Ray itself tries for minutes. Raises OSError where nobody answers there."""
    place = _PLACE.fullmatch(address or "")
    if place is not None:
        socket.create_connection((place["host"].strip("[]"), int(place["port"])), REACHED_SECONDS).close()
