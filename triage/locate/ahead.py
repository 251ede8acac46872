"""Runs that a conclusion will need, begun while the script as it is still runs, as long as a core has nothing to do.

The uncompiled one is begun when the program calls a compiled function for the first time, in a fork of the program as it
stands there, or, where it cannot be forked, when it calls `torch.compile`; that below Inductor once a graph has come as far
as Inductor, one after the other, and not where the uncompiled one has failed. By then the data of the program are made and
its ports are open, so if two runs of one program are in each other's way, it is the later one that fails, which is asked
again alone. A program that has ranks, or a GPU whose memory two runs would share, runs by itself.

Where the script as it is fails, these runs are told at which point, to go no further than they would have gone if they had been
begun afterwards (`agent/hooks/recorder.py`). A failure that two runs may have brought about, as they share files, ports and
memory, counts for nothing: the script runs once more, alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from triage.environments.machine import BYTES_PER_RUN, available_bytes
from triage.judge.naming import one_line
from triage.model.outcome import BoundaryPoint, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Probe, stop_at

LOOK_SECONDS = 0.2
MOST_READ = 4 * 1024 * 1024
COMPILES, STANDBY, IN_INDUCTOR = (
    '"compile_call"',
    '"e": "standby"',
    '"inductor compiles ',
)  # as the agent writes them down
Begun = Callable[[Path], None]
# What the operating system refuses (a port, a file or a lock that another has), and how a file reads that another is writing.
SHARED = ("BadGzipFile", "BadZipFile", "BlockingIOError", "BrokenPipeError", "ConnectionError", "ConnectionRefusedError",
          "ConnectionResetError", "DatabaseError", "DistNetworkError", "EOFError", "EmptyDataError", "Error",
          "FileExistsError", "FileNotFoundError", "IOError", "JSONDecodeError", "LZMAError", "OSError", "OperationalError",
          "ParserError", "PermissionError", "ReadError", "SafetensorError", "TimeoutError", "Timeout", "UnicodeDecodeError",
          "UnpicklingError", "error")  # fmt: skip
SAYS_SO = ("in use", "locked", "unavailable", "EADDRINUSE", "out of memory", "can't allocate memory", "PytorchStreamReader",
           "corrupted", "truncated", "malformed", "end of file", "end of data")  # fmt: skip


class Ahead:
    """One run of the program in a thread of its own. `run` is that of a probe; `ready` says whether a core has time for it.

    `sign` is in the line of the agent's events that it is begun after.
    """

    def __init__(
        self, run: Callable[[Cancel, Begun], Probe], ready: Callable[[], bool], cancel: Cancel, sign: str = COMPILES
    ) -> None:
        self._run, self._ready, self._sign = run, ready, sign
        self._cancel = Cancel(cancel)
        self._first_ended = threading.Event()
        self.begun = False
        self._probe: Future[Probe] = Future()
        self._lock = threading.Lock()
        self._channel: Path | None = None
        self._stop: BoundaryPoint | None = None
        self._thread = threading.Thread(target=self._work, name="ahead", daemon=True)
        self._events: _Events | None = None

    @property
    def ended(self) -> bool:
        """Whether it was begun, and has ended."""
        return self._probe.done()

    @property
    def passed(self) -> Probe | None:
        """The run, where it has ended and passed: two that run beside each other do not make it pass."""
        probe = self._told()
        return probe if probe is not None and probe.outcome.kind is OutcomeKind.OK else None

    @property
    def failed(self) -> Probe | None:
        """The run, where it has ended and failed, be it by the one beside it."""
        probe = self._told()
        return probe if probe is not None and probe.outcome.failed else None

    def _told(self) -> Probe | None:
        return self._probe.result() if self.ended and self._probe.exception() is None else None

    def watch(self, channel: Path) -> None:
        """The script as it is begins, and its agents write into this directory."""
        self._events = _Events(channel)
        self._thread.start()

    def first_ended(self, stop: BoundaryPoint | None) -> None:
        """The script as it is failed, at this point if it can be told. What was not begun until now is not begun here."""
        self._first_ended.set()
        with self._lock:
            self._stop = stop
            self._tell_stop()

    def result(self, cancel: Cancel) -> Probe | None:
        """Wait for it; None where it was not begun. A `cancel` that is set ends it. Raises what the run raised."""
        self._first_ended.set()
        while self._thread.is_alive():
            self._thread.join(LOOK_SECONDS)
            if cancel.is_set():
                self._cancel.set()
        return self._probe.result() if self.begun else None

    def drop(self) -> None:
        """End it, and do not wait for that (`join`): nobody asks for its answer."""
        self._first_ended.set()
        self._cancel.set()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._may_begin():
            if self._first_ended.wait(LOOK_SECONDS) or self._cancel.is_set():
                return
        self.begun = True
        try:
            self._probe.set_result(self._run(self._cancel, self._known))
        except BaseException as error:  # noqa: BLE001  raised where it is asked for
            self._probe.set_exception(error)

    def _known(self, channel: Path) -> None:
        with self._lock:
            self._channel = channel
            self._tell_stop()

    def _tell_stop(self) -> None:
        if self._channel is not None and self._stop is not None:
            stop_at(self._channel, self._stop)

    def _may_begin(self) -> bool:
        assert self._events is not None
        called = self._events.seen(COMPILES)
        if called is None or self._events.seen(self._sign) is None or not self._ready():
            return False
        if called.facts.get("standby") and self._events.seen(STANDBY) is None:
            return False  # it is to begin where the first call begins
        return bool(called.facts.get("alone")) and _has_room_beside(called.process)


class _Event(NamedTuple):
    """What an agent said, and in which process."""

    process: int
    facts: dict[str, Any]


class _Events:
    """What the agents of a run that goes on have said so far."""

    def __init__(self, channel: Path) -> None:
        self._channel = channel
        self._read: dict[Path, int] = {}
        self._seen: dict[str, _Event] = {}

    def seen(self, sign: str) -> _Event | None:
        """The first event whose line has this sign; None before there is one."""
        self._look()
        return self._seen.get(sign)

    def _look(self) -> None:
        try:
            paths = sorted(self._channel.glob("events-*.jsonl"))
        except OSError:  # the run has ended, and its directory has gone
            return
        for path in paths:
            with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                *lines, _torn = file.read(MOST_READ).split(b"\n")
                self._read[path] = self._read.get(path, 0) + sum(len(line) + 1 for line in lines)
                for line in lines:
                    for sign in (COMPILES, STANDBY, IN_INDUCTOR):
                        if sign.encode() in line and sign not in self._seen:
                            self._seen[sign] = _Event(int(path.stem.rpartition("-")[2]), json.loads(line))


def may_be_in_the_way(outcome: Outcome) -> bool:
    """Whether a failure is of the kind that a second run of the same program beside it may bring about."""
    if outcome.kind is OutcomeKind.OOM or outcome.signal == "SIGKILL":
        return True
    error = outcome.exception
    if error is None or error.in_compiled_code:
        return False
    return error.type.rpartition(".")[2] in SHARED or any(words in error.message for words in SAYS_SO)


def told_of(probe: Probe) -> str:
    """Why a run that failed so is made again, for a person who waits."""
    met = one_line(probe.signature) if probe.signature is not None else probe.outcome.kind.value
    return f"{probe.name} met the run beside it, perhaps ({met}): running it again, alone"


def _has_room_beside(pid: int) -> bool:
    """Whether the memory holds the program twice, and what it may still want."""
    with contextlib.suppress(OSError, ValueError):
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return available_bytes() > 2 * resident + BYTES_PER_RUN
    return False
