"""Wrong values, and targets whose graphs or checks give them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from triage.judge.signature import signature_of
from triage.locate import comparing
from triage.locate.walk import Walk
from triage.model.accuracy import Check, WrongResult
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe import interpret
from triage.probe.run import Probe, ProbeRequest

GRADIENT = WrongResult(
    "0/1", 4, "gradient of self.w", "backward", wrong=3, elements=6, reference=True, compiled_error=0.5
)
OUTPUT = WrongResult("0/1", 4, "output 3", "forward", wrong=1, elements=6)
NAN = replace(OUTPUT, kind="nan", sense="compiled")
FORWARD = {
    "call": 4, "item": "output 0", "direction": "forward", "dtype": "float32", "shape": [2, 3],
    "compiled": float("nan"),
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"e": "start"},
    {"e": "not_compared", "graph": "0/0", "reason": "an input is a DTensor"},
    {"e": "wrong", "result": {"graph": "0/1", **FORWARD}},
    {"e": "wrong", "result": {"graph": "0/2", **FORWARD}},
    {"e": "end", "graphs": 2, "compared": 7, "backwards": 3},
]


def ran(notes: AgentNotes, code: int = 0) -> Outcome:
    return interpret.with_comparison(Outcome(OutcomeKind.OK, 1.0, code), notes)


class Checking:
    """A target whose own check fails on all rungs but those that it `passes`. What comparing its graphs finds are `notes`.

    It fails by its graphs: with one of them uncompiled it passes.
    """

    passes: tuple[str, ...] = ("uncompiled", "eager")

    def __init__(self, notes: AgentNotes, check: Check | None = None, error: RaisedException | None = None) -> None:
        self.notes, self.checked, self.error = notes, check, error
        self.requests: list[ProbeRequest] = []

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.requests.append(request)
        notes = AgentNotes(True, "2.13.0", compile_calls=(CompileCall(None),), graphs=1)
        outcome = Outcome(OutcomeKind.OK, 1.0, 0)
        if request.rung not in self.passes and not request.uncompiled_graphs:
            frames = (Frame("/home/me/x.py", 9, "<module>", "assert close(out, ref)"),)
            error = RaisedException("AssertionError", "no", frames, phase="uncaught", check=self.checked)
            outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=self.error or error)
        if request.accuracy is not None:
            notes = replace(self.notes, started=True, compile_calls=notes.compile_calls)
        return Probe(request.name, request.rung, outcome, signature_of(outcome), notes, Path("x"))


def checked(
    walk: Callable[..., Walk], notes: AgentNotes, check: Check | None = None, error: RaisedException | None = None
) -> tuple[Walk, Checking]:
    machine = Checking(notes, check, error)
    it = walk(machine)
    it.first()
    it.settle()
    assert comparing.worth_checking(it)
    comparing.check(it)
    return it, machine


CHECK = RaisedException("AssertionError", "eager: 1, compiled: 2", (Frame("repro.py", 9, "<module>"),))
FAILS = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=CHECK)
