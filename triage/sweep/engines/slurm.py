"""Slurm: each process is a job of its own, submitted and watched through submitit.

Every node sees the same files, and has the same interpreter at the same place.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triage.errors import UsageError
from triage.sweep.engines.interface import Done, Work, imported
from triage.sweep.engines.local import run_here

POLL_SECONDS = 0.5
GONE = ("NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REVOKED")  # states in which the machine is to blame (sacct's manual)


class SlurmEngine:
    """Jobs are submitted with `parameters` (partition, account, ...); submitit keeps its files in `folder`.

    `cluster` is what runs them: slurm where it is there, or submitit's own processes on this machine ("local").
    Raises UsageError where submitit is not installed or there is no Slurm.
    """

    name = "slurm"

    def __init__(
        self, folder: Path, slots: int, cluster: str | None = "slurm", parameters: Mapping[str, Any] | None = None
    ) -> None:
        submitit = imported("slurm", "submitit", "submitit")
        try:
            self._executor = submitit.AutoExecutor(folder=str(folder / "%j"), cluster=cluster)
        except RuntimeError as error:
            raise UsageError(
                what="There is no Slurm here.",
                why=str(error),
                next="Start the sweep on a machine that can submit jobs, or leave --engine out to use this machine.",
            ) from error
        self.slots = slots
        self._parameters = dict(parameters or {})
        self._running: dict[str, tuple[Any, Work, float]] = {}

    def submit(self, work: Work) -> None:
        self._executor.update_parameters(
            timeout_min=max(1, math.ceil((work.timeout + work.grace) / 60)),
            cpus_per_task=work.cores,
            name="triage",
            **self._parameters,
        )
        self._running[work.name] = (self._executor.submit(run_here, work), work, time.monotonic())

    def wait(self, seconds: float | None = None) -> Done | None:
        end = math.inf if seconds is None else time.monotonic() + seconds
        while self._running:
            for job, work, began in list(self._running.values()):
                if job.done():
                    del self._running[work.name]
                    return _told(job, work, time.monotonic() - began)
            if time.monotonic() >= end:
                return None
            time.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))
        return None

    def close(self) -> None:
        for job, _, _ in self._running.values():
            with contextlib.suppress(Exception):  # it may just have ended
                job.cancel()
        deadline = time.monotonic() + 30
        while any(not job.done() for job, _, _ in self._running.values()) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        self._running = {}


def _told(job: Any, work: Work, seconds: float) -> Done:
    try:
        done: Done = job.result()
    except Exception as error:  # noqa: BLE001  whatever submitit raises: the job left no answer
        state = str(job.state).upper()
        lost = any(word in state for word in GONE) or type(error).__name__ == "UncompletedJobError"
        words = str(error).strip().splitlines() or [""]
        return Done(work.name, None, seconds, lost=lost, error=f"{state}: {words[0]}")
    return done
