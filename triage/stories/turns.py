"""Processes of the target that stand still until they are given their turn: started, waited for, told to go on or to end.

The other side is the agent's `hooks/turns`; both look into one file that has a byte for each process.
"""

from __future__ import annotations

import contextlib
import mmap
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triage.explain.modes import Mode
from triage.model.rungs import UNCOMPILED
from triage.probe.launch import Cancel
from triage.probe.run import Probe, run_probe
from triage.probe.target import Target
from triage.session.session import Session
from triage.stories.explain_run import how_it_ended, request_for

SLOTS = 64  # as many as the agent's file has
READY, GO, STOP, ENDED, PROFILE = b"r", b"g", b"s", b"x", b"p"  # as in the agent's `turns`
BLOCK_SECONDS = 0.25  # of one turn; a step that is longer is one
POLL_SECONDS = 0.002
NOT_READY = "it had not compiled and made its first steps"


@dataclass
class ModeProcess:
    """The process of one mode; its log and its events are called `name`."""

    mode: Mode
    name: str
    slot: int
    cancel: Cancel
    probe: Future[Probe]
    late: str | None = None  # why it was ended


class Turns:
    """The processes of one program. `overlay` marks the function that is its step; at `path` each finds its turn."""

    def __init__(
        self, session: Session, target: Target, overlay: Mapping[Path, bytes], path: Path, pool: ThreadPoolExecutor
    ) -> None:
        self._session, self._target, self._overlay, self._path, self._pool = session, target, overlay, path, pool
        path.write_bytes(b"-" * SLOTS)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SLOTS)

    def start(
        self, mode: Mode, slot: int, name: str, *, profile: Path | None = None, caches: Path | None = None
    ) -> ModeProcess:
        """Start the program in this mode. `profile` is where traces go.

        `caches` are torch's, kept for the next process; without it each has its own.
        """
        session = self._session
        turns = {"file": str(self._path), "slot": slot, "block": BLOCK_SECONDS, "named": bool(self._overlay)}
        request = request_for(
            session,
            self._target,
            name,
            caches,
            rung=mode.rung,
            timeout=_limit(session),
            overlay=self._overlay,
            seed=0,  # the same inputs in every mode
            compile_arguments=dict(mode.arguments) if mode.rung != UNCOMPILED.name else {},
            turns={**turns, **({"profile": str(profile)} if profile is not None else {})},
        )
        session.emit("probe_started", name=mode.name, rung=mode.name, timeout=request.timeout)
        cancel = Cancel(session.cancel)
        return ModeProcess(mode, name, slot, cancel, self._pool.submit(run_probe, request, cancel))

    def is_ready(self, process: ModeProcess) -> bool:
        """Whether it stands still and waits for its turn."""
        return not process.probe.done() and self._state(process) == READY

    def give(self, process: ModeProcess, state: bytes) -> None:
        """Tell it to go on, to end, or to profile its next step."""
        self._map[process.slot : process.slot + 1] = state

    def wait(self, process: ModeProcess, what: str) -> None:
        """Until it waits for its turn, or has ended; one that takes longer than a run of the script may is ended."""
        session = self._session
        limit = time.monotonic() + session.settings.timeout
        while not process.probe.done() and self._state(process) not in (READY, ENDED):
            if time.monotonic() > limit or session.clock.spent():
                process.late = f"{what} within {session.settings.timeout:.0f} s (--timeout)"
                process.cancel.set()
                process.probe.exception()
                return
            time.sleep(POLL_SECONDS)

    def ended(self, process: ModeProcess) -> Probe:
        """The process once it has ended, announced."""
        probe, name = process.probe.result(), process.mode.name
        self._session.emit("probe_ended", name=name, rung=name, **how_it_ended(probe.outcome))
        return probe

    def close(self) -> None:
        self._map.close()

    def _state(self, process: ModeProcess) -> bytes:
        return self._map[process.slot : process.slot + 1]


@contextmanager
def in_turns(
    session: Session, target: Target, overlay: Mapping[Path, bytes], path: Path, count: int
) -> Iterator[Turns]:
    """At most `count` processes, each with a thread that waits for it; whatever goes wrong here, those end."""
    with contextlib.ExitStack() as stack:
        turns = Turns(session, target, overlay, path, stack.enter_context(session.pool(max(1, count))))
        stack.callback(turns.close)
        yield turns


def _limit(session: Session) -> float:
    """Of one process, in seconds: it also waits while the others compile, and for its turns."""
    return min(session.clock.left(), 100 * session.settings.timeout)
