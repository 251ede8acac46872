"""Runs of the script that begin where it first called a compiled function, in forks of a copy that stands by there.

The copy is made by the run of the script as it is (`agent/warm/standby.py`), and lives until it is closed here, or triage ends.
Only a run that passes counts: what fails, hangs or has no answer there is run from the beginning.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as NotYetError
from pathlib import Path
from typing import Any

from triage.model.rungs import LADDER
from triage.probe.forkclient import ForkRequest, Forks, ServerGoneError, named_pipes
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.staging import Stage
from triage.probe.starvation import Standstill

# As the agent calls them.
FOLDER, READY, PRINTED = "standby", "ready.json", ("out", "err")
RUNGS = tuple(rung.force for rung in LADDER[:-1])  # nothing there builds a kernel of more than one thread
POLL_SECONDS = 0.05
# What a run may take there once the script as it is has ended: many times what that took from the copy on, with one thread.
FACTOR, LEAST_SECONDS = 4.0, 10.0
# Without any work it waits for what was not forked with it, a thread of OpenMP's say.
IDLE_SECONDS = 4.0


class Standby:
    """The copy of one script, if there comes one. Every method may be called at any moment, and by any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stage: Stage | None = None  # of the run as it is: the copy's files lie there
        self._let_go: Callable[[], None] | None = None  # ends the copy's supervisor
        self._pipes: tuple[int, int] | None = None
        self._forks: Forks | None = None
        self._facts: dict[str, Any] = {}
        self._limit: float | None = None  # in seconds, of a run that begins in the copy
        self._closed = sys.platform != "linux"
        self._logs: tuple[Path, Path] | None = None

    def prepare(self, stage: Stage, stdout: Path, stderr: Path) -> Path | None:
        """Lay the pipes for the run that is about to start; the directory that it is told, None where there can be no copy."""
        with self._lock, contextlib.suppress(OSError):
            if self._closed or self._stage is not None:
                return None
            folder = stage.root / FOLDER
            folder.mkdir()
            for name, path in zip(PRINTED, (stdout, stderr), strict=True):
                (folder / name).symlink_to(path.absolute())
            self._pipes = named_pipes(folder)
            self._stage, self._logs = stage, (stdout, stderr)
            return folder
        return None

    def keep(self, let_go: Callable[[], None]) -> bool:
        """The run as it is has ended: whether its copy is kept, and ended by this from now on."""
        with self._lock:
            if self._closed or self._ready() is None:
                return False
            self._let_go = let_go
            return True

    def ended(self, seconds: float) -> bool:
        """The run as it is took so long. Whether its directory is still in use."""
        with self._lock:
            if self._let_go is None:
                self.close()
                return False
            self._limit = max(LEAST_SECONDS, FACTOR * (seconds - float(self._facts["seconds"])))
            return True

    def start(self, launch: Launch, cancel: Cancel | None = None) -> Exit:
        """Run it in a fork of the copy. With an `error` where that gives no answer."""
        with self._lock:
            forks = None if self._closed else self._ready()
        if forks is None:
            return Exit(None, 0.0, error="no copy of the program stands by")
        assert launch.channel is not None
        root = launch.channel.with_name("forked")
        try:
            root.mkdir()
            request = ForkRequest("", root, launch.timeout, env=launch.env, script="the program that stands by")
            done = self._waited(forks, request, cancel or Cancel())
            self._keep_output(root, launch)
            return done
        except (ServerGoneError, OSError) as error:
            return Exit(None, 0.0, error=str(error))

    def close(self) -> None:
        """End the copy, and the runs in it."""
        with self._lock:
            forks, pipes, let_go, stage = self._forks, self._pipes, self._let_go, self._stage
            self._closed, self._forks, self._pipes, self._let_go, self._stage = True, None, None, None, None
        if forks is not None:
            forks.ask_to_end()
        elif pipes is not None:
            os.close(pipes[0])
            os.close(pipes[1])
        if let_go is not None:
            let_go()
            assert stage is not None
            stage.remove()

    def _ready(self) -> Forks | None:
        """What is asked, once it stands by."""
        if self._forks is None and self._stage is not None and self._pipes is not None:
            with contextlib.suppress(OSError, ValueError):
                self._facts = json.loads((self._stage.root / FOLDER / READY).read_text())
                requests, replies = self._pipes
                os.set_blocking(replies, True)
                self._forks = Forks(requests, os.fdopen(replies, "rb"))
                self._forks.listen()
        return self._forks

    def _waited(self, forks: Forks, request: ForkRequest, cancel: Cancel) -> Exit:
        began = time.monotonic()
        running = forks.submit(request)
        told, standstill = "", Standstill()
        while True:
            with contextlib.suppress(NotYetError):
                done = running.result(POLL_SECONDS).exit
                break
            limit = self._limit
            if told:
                continue
            if cancel.is_set():
                told = "cancelled"
            elif limit is not None and time.monotonic() - began > limit:
                told = "it takes too long there"
            elif standstill.look(forks.pid_of(running)) > IDLE_SECONDS:
                told = "it does nothing there"
            else:
                continue
            forks.cancel(running)
        if told:
            return Exit(None, done.seconds, cancelled=told == "cancelled", error=told)
        return Exit(done.code, done.seconds + float(self._facts["seconds"]), done.timed_out, done.cancelled, done.error)

    def _keep_output(self, root: Path, launch: Launch) -> None:
        """What the program had printed before it was copied, and what the run printed from then on."""
        assert self._logs is not None
        for log, length, name, goal in zip(
            self._logs,
            self._facts["printed"],
            ("stdout.txt", "stderr.txt"),
            (launch.stdout, launch.stderr),
            strict=True,
        ):
            with log.open("rb") as before, goal.open("wb") as out:
                out.write(before.read(int(length)))
                out.write((root / name).read_bytes())
