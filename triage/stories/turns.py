"""Processes of the target that stand still until they are given their turn: started, waited for, told to go on or to end.

The other side is the agent's `hooks/turns`; both look into one file that has a byte for each process.
"""

from __future__ import annotations

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
from triage.stories.explain_run import ended_facts, request_for

SLOTS = 64  # as many as the agent's file has
READY, GO, STOP, ENDED, PROFILE = b"r", b"g", b"s", b"x", b"p"  # as in the agent's `turns`
BLOCK_SECONDS = 0.25  # of one turn; a step that is longer is one
POLL_SECONDS = 0.002
NOT_READY = "it had not compiled and made its first steps"


@dataclass
class Running:
    """The process of one mode; its log and its events are called `name`."""

    mode: Mode
    name: str
    slot: int
    cancel: Cancel
    probe: Future[Probe]
    late: str | None = None  # why it was ended


class Baton:
    """The file in which every process finds its turn, a byte for each."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(b"-" * SLOTS)
        self.path = path
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SLOTS)

    def state(self, slot: int) -> bytes:
        return self._map[slot : slot + 1]

    def give(self, slot: int, state: bytes) -> None:
        self._map[slot : slot + 1] = state

    def close(self) -> None:
        self._map.close()


@contextmanager
def processes(session: Session, count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that each wait for a process; whatever goes wrong here, those end."""
    with ThreadPoolExecutor(max(1, count), thread_name_prefix="turns") as pool:
        try:
            yield pool
        except BaseException:
            session.cancel.set()
            raise


def start(
    session: Session,
    target: Target,
    mode: Mode,
    overlay: Mapping[Path, bytes],
    baton: Baton,
    slot: int,
    pool: ThreadPoolExecutor,
    name: str,
    profile: Path | None = None,
    caches: Path | None = None,
) -> Running:
    """Start the program in this mode. `overlay` marks the function that is its step; `profile` is where traces go.

    `caches` are torch's, kept for the next process; without it each has its own.
    """
    turns = {"file": str(baton.path), "slot": slot, "block": BLOCK_SECONDS, "named": bool(overlay)}
    request = request_for(
        session,
        target,
        name,
        caches,
        rung=mode.rung,
        timeout=_limit(session),
        overlay=overlay,
        seed=0,  # the same inputs in every mode
        compile_arguments=dict(mode.arguments) if mode.rung != UNCOMPILED.name else {},
        turns={**turns, **({"profile": str(profile)} if profile is not None else {})},
    )
    session.emit("probe_started", name=mode.name, rung=mode.name, timeout=request.timeout)
    cancel = Cancel(session.cancel)
    return Running(mode, name, slot, cancel, pool.submit(run_probe, request, cancel))


def _limit(session: Session) -> float:
    """Of one process, in seconds: it also waits while the others compile, and for its turns."""
    return min(session.clock.left(), 100 * session.settings.timeout)


def wait(baton: Baton, each: Running, session: Session, what: str) -> None:
    """Until it waits for its turn, or has ended; one that takes longer than a run of the script may is ended."""
    limit = time.monotonic() + session.settings.timeout
    while not each.probe.done() and baton.state(each.slot) not in (READY, ENDED):
        if time.monotonic() > limit or session.clock.spent():
            each.late = f"{what} within {session.settings.timeout:.0f} s (--timeout)"
            each.cancel.set()
            each.probe.exception()
            return
        time.sleep(POLL_SECONDS)


def ended(session: Session, each: Running) -> Probe:
    """The process once it has ended, announced."""
    probe = each.probe.result()
    session.emit("probe_ended", name=each.mode.name, rung=each.mode.name, **ended_facts(probe.outcome))
    return probe
