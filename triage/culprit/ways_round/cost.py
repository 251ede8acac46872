"""What a way round costs, in words: only what was measured."""

from __future__ import annotations

from triage.model.outcome import AgentNotes, Steps
from triage.model.report import COMPILES_NOTHING

CLEARLY = 1.5  # times as long


def compiles_nothing(notes: AgentNotes) -> bool:
    """Whether a run that passed was a run of an uncompiled program."""
    return notes.graphs == 0


def clearly_cheaper(one: AgentNotes, other: AgentNotes) -> bool:
    """Whether of two runs that passed, of programs changed otherwise, this one's leaves more to the compiler.

    Their times were measured beside each other and beside other processes, so little of a difference says nothing.
    """
    if compiles_nothing(one) or compiles_nothing(other):
        return not compiles_nothing(one)
    if one.steps is None or other.steps is None:
        return False
    return CLEARLY * one.steps.seconds < other.steps.seconds


def cost_in_words(
    changed: AgentNotes, uncompiled: AgentNotes | None, failing: AgentNotes | None = None, *, compared: bool = False
) -> str:
    """Of the changed program's run, beside one without a compiler and beside the steps that `failing`, the script as it is, did.

    `compared`: results were, so its time says nothing.
    """
    if compiles_nothing(changed):
        return COMPILES_NOTHING
    told = _time(changed.steps, uncompiled.steps if uncompiled is not None else None, compared)
    if changed.steps is not None and failing is not None and failing.steps is not None and not compared:
        told += f"; as it is, before it fails, {_told(failing.steps.seconds)}"
    ended = "; the run was ended when it was well past the point of the failure" if changed.stopped_early else ""
    return told + ended


def _time(steps: Steps | None, uncompiled: Steps | None, compared: bool) -> str:
    if compared:
        return "time not measured: the run compared results"
    if steps is None:
        return "time not measured: too few calls of compiled functions that did not mostly wait"
    if uncompiled is None:
        return f"a step takes {_told(steps.seconds)}; uncompiled not measured"
    return f"a step takes {_told(steps.seconds)}; uncompiled {_told(uncompiled.seconds)}"


def _told(seconds: float) -> str:
    """`4.1 ms`: two digits that count."""
    if seconds >= 1.0:
        return f"{seconds:.1f} s"
    milliseconds = seconds * 1000
    return (
        f"{milliseconds:.0f} ms"
        if milliseconds >= 10
        else f"{milliseconds:.1f} ms"
        if milliseconds >= 1
        else f"{milliseconds:.2f} ms"
    )
