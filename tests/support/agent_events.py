"""What agents say, and the outcome that comes of it: for tests of how it is read."""

import itertools
from typing import Any

from triage.model.outcome import Outcome
from triage.probe.interpret import outcome_of
from triage.probe.launch import Exit
from triage.probe.notes import agent_notes

Event = dict[str, Any]
TIMES = itertools.count(1)


def event(kind: str, pid: int = 10, **facts: Any) -> Event:
    return {"e": kind, "t": float(next(TIMES)), "pid": pid, **facts}


def error(
    kind: str = "RuntimeError",
    message: str = "bad",
    phase: str = "call",
    inner: Event | None = None,
    frames: tuple[Event, ...] = (),
    cause: Event | None = None,
) -> Event:
    told = {"type": kind, "message": message, "frames": list(frames), "inner": inner, "phase": phase}
    return {**told, "cause": cause}


def raised(
    number: int = 1,
    at: str = "call",
    pid: int = 10,
    chain: tuple[int, ...] = (),
    point: Event | None = None,
    **facts: Any,
) -> Event:
    return event(
        "raised",
        pid,
        id=number,
        phase=at,
        exception=error(phase=at, **facts),
        chain=[[pid, link] for link in chain],
        point=point or {},
    )


def again(number: int = 1, at: str = "uncaught", pid: int = 10) -> Event:
    return event("raised_again", pid, id=number, phase=at)


def outcome(
    code: int | None, *events: Event, stderr: str = "", stdout: str = "", uncompiled: bool = False, **ending: Any
) -> Outcome:
    done = Exit(code, 3.0, **ending)
    return outcome_of(done, agent_notes([event("start"), *events]), stdout, stderr, uncompiled=uncompiled)
