"""Runs of one rung that ended in this way or that: for tests of what is concluded."""

from dataclasses import replace
from pathlib import Path

from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion, conclude
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe

SITE = "/opt/venv/lib/python3.11/site-packages/torch"


def error(
    kind: str = "TypeError", message: str = "bad operand", file: str = "_inductor/ir.py", **more: object
) -> RaisedException:
    return RaisedException(
        kind, message, (Frame("/home/ann/train.py", 3, "main"), Frame(f"{SITE}/{file}", 7, "f")), **more
    )


def probe(outcome: Outcome, *raised: RaisedException, cancelled: bool = False) -> Probe:
    return Probe(
        "x",
        None,
        outcome,
        signature_of(outcome),
        AgentNotes(started=True, raised=raised),
        Path("x"),
        cancelled=cancelled,
    )


OK = probe(Outcome(OutcomeKind.OK, exit_code=0))
INVALID = probe(Outcome(OutcomeKind.INVALID, detail="cancelled"), cancelled=True)


def fails(exception: RaisedException | None = None, kind: OutcomeKind = OutcomeKind.EXCEPTION, code: int = 1) -> Probe:
    exception = exception or error()
    return probe(Outcome(kind, exit_code=code, exception=exception), exception)


def crashes(signal: str = "SIGSEGV") -> Probe:
    return probe(Outcome(OutcomeKind.CRASH, exit_code=-11, signal=signal, detail="run graph 0/0"))


def hangs() -> Probe:
    return probe(Outcome(OutcomeKind.HANG, seconds=300.0, detail="compile graph 0/0"))


def handled(*exceptions: RaisedException, code: int = 0) -> Probe:
    """The program met these and went on."""
    met = tuple(replace(exception, swallowed=True) for exception in exceptions)
    return probe(Outcome(OutcomeKind.EXCEPTION, exit_code=code, exception=met[0]), *met)


def met_uncompiled(*exceptions: RaisedException) -> Probe:
    return probe(Outcome(OutcomeKind.OK, exit_code=0), *(replace(found, swallowed=True) for found in exceptions))


TOP = len(LADDER) - 1
NAMES = [rung.name for rung in LADDER]


def ladder(*states: Probe | list[Probe] | None) -> Conclusion:
    """The conclusion of the built-in ladder; None for a rung that was not visited."""
    seen = {
        name: state if isinstance(state, list) else [state]
        for name, state in zip(NAMES, states, strict=True)
        if state is not None
    }
    return conclude(LADDER, TOP, seen)
