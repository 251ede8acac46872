"""The uncompiled run, begun while the script as it is still runs: whatever that shows, a conclusion needs the other too.

It is begun when the program calls `torch.compile` for the first time. By then its data are made and its ports are open, so if two
runs of one program are in each other's way, it is this one that fails, which is asked again alone. A program that has
ranks, or a GPU whose memory two runs would share, runs by itself.

Where the script as it is fails, this run is told at which point, to go no further than it would have gone if it had been
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

from triage.environments.machine import BYTES_PER_RUN, available_bytes
from triage.model.outcome import BoundaryPoint, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Probe, stop_at

LOOK_SECONDS = 0.2
Begun = Callable[[Path], None]
# What the operating system refuses: a port, a file or a lock that another has.
SHARED = ("Error", "BlockingIOError", "BrokenPipeError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError",
          "DistNetworkError", "EOFError", "FileExistsError", "FileNotFoundError", "IOError", "OSError", "OperationalError",
          "PermissionError", "TimeoutError", "Timeout", "error")  # fmt: skip
SAYS_SO = ("in use", "locked", "unavailable", "EADDRINUSE", "out of memory", "can't allocate memory")


class Ahead:
    """One run of the program in a thread of its own. `run` is that of a probe; `ready` says whether a core has time for it."""

    def __init__(self, run: Callable[[Cancel, Begun], Probe], ready: Callable[[], bool], cancel: Cancel) -> None:
        self._run, self._ready = run, ready
        self._cancel = Cancel(cancel)
        self._first_ended = threading.Event()
        self.begun = False
        self._probe: Future[Probe] = Future()
        self._lock = threading.Lock()
        self._channel: Path | None = None
        self._stop: BoundaryPoint | None = None
        self._thread = threading.Thread(target=self._work, name="ahead", daemon=True)
        self._of_first: Path | None = None

    def watch(self, channel: Path) -> None:
        """The script as it is begins, and its agents write into this directory."""
        self._of_first = channel
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
        """End it; nobody asks for its answer."""
        self._first_ended.set()
        self._cancel.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        told: tuple[int, bool] | None = None
        while told is None or not (self._ready() and _has_room_beside(told[0])):
            if self._first_ended.wait(LOOK_SECONDS) or self._cancel.is_set() or (told is not None and not told[1]):
                return
            told = told or self._compiles()
        if not told[1]:
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

    def _compiles(self) -> tuple[int, bool] | None:
        """(process, whether a second run may be beside it) of the program that calls torch.compile; None before that."""
        assert self._of_first is not None
        with contextlib.suppress(OSError, ValueError):
            for path in self._of_first.glob("events-*.jsonl"):
                for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                    if '"compile_call"' in line:
                        return int(path.stem.rpartition("-")[2]), bool(json.loads(line).get("alone"))
        return None


def may_be_in_the_way(outcome: Outcome) -> bool:
    """Whether a failure is of the kind that a second run of the same program beside it may bring about."""
    if outcome.kind is OutcomeKind.OOM or outcome.signal == "SIGKILL":
        return True
    error = outcome.exception
    if error is None or error.phase in ("compile", "call", "backward"):
        return False
    return error.type.rpartition(".")[2] in SHARED or any(words in error.message for words in SAYS_SO)


def _has_room_beside(pid: int) -> bool:
    """Whether the memory holds the program twice, and what it may still want."""
    with contextlib.suppress(OSError, ValueError):
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return available_bytes() > 2 * resident + BYTES_PER_RUN
    return False
