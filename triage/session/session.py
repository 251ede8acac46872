"""One run: its directory, its settings, its time, its events. Everything learned is on disk as soon as it is learned."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.environments.files import JOURNAL, check_writable, owned
from triage.environments.machine import kept_in
from triage.errors import UsageError, written
from triage.model.stage import Verdict
from triage.probe.launch import Cancel
from triage.probe.staging import prune_headers
from triage.session.clock import BudgetSpentError, Clock
from triage.session.directory import RunDirectory, make_directory
from triage.session.events import Emitter, Journal
from triage.session.settings import Settings

KERNELS = "kernels"
MOST_KEPT_BYTES = 512 * 1024 * 1024  # of the store below; one that has grown larger is emptied


@dataclass
class Session:
    """What every step of a run shares."""

    directory: Path
    settings: Settings
    emit: Emitter
    clock: Clock
    neutral: Path | None
    kernels: Path | None = None  # where built kernels are kept from one process to the next, while the run lasts
    cancel: Cancel = field(default_factory=Cancel)
    timings: dict[str, float] = field(default_factory=dict)
    # Of the run that this one goes on with: verdicts on candidates, and what fresh processes showed.
    recalled: Mapping[str, Verdict] = field(default_factory=dict)
    verified: Mapping[str, Any] = field(default_factory=dict)
    place: RunDirectory | None = None  # the directory, where this run is the first in it

    def probe_timeout(self) -> float:
        """The limit of one probe: the setting, or what is left of the budget. Raises BudgetSpentError where that is nothing."""
        left = self.clock.left()
        if left <= 1.0:
            raise BudgetSpentError
        return min(self.settings.timeout, left)

    @contextlib.contextmanager
    def pool(self, size: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for runs side by side. Whatever interrupts the wait for them ends them all."""
        pool = ThreadPoolExecutor(max_workers=size)
        try:
            yield pool
        except BaseException:
            self.cancel.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def keep_kernels(self) -> None:
        """From now on no C++ kernel of the same text is built twice; also not where an interrupted run is gone on with."""
        kernels = self.directory / KERNELS
        with contextlib.suppress(OSError):  # then each process builds its own
            kernels.mkdir(exist_ok=True)
            self.kernels = kernels

    def forget_kernels(self) -> None:
        """Nobody will ask for them again."""
        if self.kernels is not None:
            shutil.rmtree(self.kernels, ignore_errors=True)

    @contextlib.contextmanager
    def unless_misused(self) -> Iterator[None]:
        """Where what goes on inside shows that the command meant nothing (UsageError), nothing of the run is left."""
        try:
            yield
        except UsageError:
            if self.place is not None:
                self.place.forget()
            raise

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time spent inside to `timings[step]`, in seconds."""
        began = time.monotonic()
        self.emit("step_started", step=step)
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            self.timings[step] = round(self.timings.get(step, 0.0) + seconds, 2)
            self.emit("step_ended", step=step, seconds=round(seconds, 2))


def open_session(settings: Settings, label: str, cwd: Path, emit: Emitter) -> Session:
    """Make the run directory. It is never an earlier one: a name that is taken gets a number.

    Raises UsageError where it cannot be made.
    """
    place = make_directory(settings.out, label, cwd)
    emit.add(Journal(place.path / JOURNAL))
    return Session(place.path, settings, emit, Clock(settings.budget), neutral_store(), place=place)


def reopen_session(
    settings: Settings, directory: Path, emit: Emitter, recalled: Mapping[str, Verdict], verified: Mapping[str, Any]
) -> Session:
    """Go on in the directory of an earlier run. Raises UsageError where it cannot be written, or that run goes on."""
    refuse_where_another_goes_on(directory)
    with written(f"The run directory {directory}", "Start anew: triage run SCRIPT"):
        check_writable(directory)
    emit.add(Journal(directory / JOURNAL))
    return Session(
        directory, settings, emit, Clock(settings.budget), neutral_store(), recalled=recalled, verified=verified
    )


def refuse_where_another_goes_on(directory: Path) -> None:
    """Raises UsageError where a living process is at work in this directory: two would write over each other's answers."""
    if owned(directory / JOURNAL):
        raise UsageError(
            what=f"{directory} cannot be gone on with now.",
            why="Another triage is at work there.",
            next="Wait for its end, or end it; or choose another directory with --out.",
        )


def neutral_store() -> Path | None:
    """Where the parts of the compiler cache that hold nothing of the user's are kept between probes and runs."""
    root = kept_in("toolchain")
    try:
        root.mkdir(parents=True, exist_ok=True)
        if sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) > MOST_KEPT_BYTES:
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True, exist_ok=True)
        prune_headers(root)
    except OSError:
        return None
    return root
