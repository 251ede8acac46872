"""A target that fails on the rungs that we say, and a walk along them."""

import itertools
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.probe.target import Target
from triage.session.clock import Clock
from triage.session.events import Emitter, Event
from triage.session.session import Session
from triage.session.settings import Settings

RUNGS = tuple(rung.name for rung in LADDER)
SITE = "/opt/venv/lib/python3.11/site-packages/torch"
FRAMES = {
    "eager": "_dynamo/variables/base.py",
    "aot_eager": "_functorch/aot_autograd.py",
    "aot_eager_decomp_partition": "_refs/__init__.py",
    "inductor": "_inductor/lowering.py",
}


def error(hint: str = "inductor", message: str = "bad operand", phase: str = "compile") -> RaisedException:
    """An exception whose frames speak for a rung."""
    return RaisedException("TypeError", message, (Frame(f"{SITE}/{FRAMES[hint]}", 3, "f"),), phase=phase)


class Machine:
    """Stands in for `run_probe`. `fails` maps a rung to the outcomes of its runs, in turn (None passes)."""

    def __init__(
        self,
        fails: dict[str, Iterable[RaisedException | OutcomeKind | None]],
        calls: tuple[CompileCall, ...] = (),
        seconds: float = 1.0,
    ) -> None:
        self.turns = {rung: itertools.chain(turns, itertools.repeat(None)) for rung, turns in fails.items()}
        self.calls, self.seconds = calls or (CompileCall(None),), seconds
        self.top = {"backends": self.calls[0].backend or "inductor"}["backends"]
        self.requests: list[ProbeRequest] = []
        self.lock = threading.Lock()

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        with self.lock:
            self.requests.append(request)
            rung = request.rung or ("as_is" if "as_is" in self.turns else self.top)
            turn = next(self.turns[rung]) if rung in self.turns else None
        cancelled = cancel is not None and cancel.is_set()
        if cancelled:
            outcome = Outcome(OutcomeKind.INVALID, detail="cancelled")
        elif turn is None:
            outcome = Outcome(OutcomeKind.OK, self.seconds, 0)
        elif isinstance(turn, OutcomeKind):
            outcome = Outcome(turn, min(self.seconds, request.timeout), -11, "SIGSEGV", detail="run graph 0/0")
        else:
            outcome = Outcome(OutcomeKind.EXCEPTION, self.seconds, 1, exception=turn)
        raised = (outcome.exception,) if outcome.exception else ()
        notes = AgentNotes(True, "2.13.0", compile_calls=self.calls, raised=raised, point=BoundaryPoint(3, 2))
        return Probe(request.name, request.rung, outcome, signature_of(outcome), notes, Path("x"), cancelled=cancelled)

    def visited(self) -> list[str]:
        return [request.name for request in self.requests]


def walk_of(tmp_path: Path) -> Callable[..., Walk]:
    """A maker of walks whose runs lie in this directory."""

    def make(
        machine: Machine, jobs: int = 1, budget: float = 0.0, heard: list[Event] | None = None, **more: Any
    ) -> Walk:
        emit = Emitter((heard if heard is not None else []).append)
        session = Session(tmp_path, Settings(jobs=jobs, budget=budget, **more), emit, Clock(budget), None)
        return Walk(session, Target("python", ("python", "x.py"), tmp_path), probe=machine)

    return make


def go(found: Walk) -> Conclusion:
    """Walk, from the script as it is to the stage."""
    found.first()
    return found.settle()
