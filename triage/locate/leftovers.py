"""Runs that meet what an earlier run of the script left behind: they say nothing of the rung on which they ran.

A program that refuses to write over its own results fails otherwise; one that goes on from its checkpoint passes, and has nothing
left to compile. Both are told by running the script once more as it is (`visits.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.judge.likeness import same_face
from triage.model.rungs import AS_IS, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind, Stage
from triage.probe.run import Probe

AS_IT_IS = Rung(AS_IS, None, Stage.NONE)


def compiled_nothing(rung: Rung, probe: Probe, before: Sequence[Probe]) -> bool:
    """Whether a run passed and compiled nothing, on a rung that compiles, and the script had compiled and failed `before`."""
    notes = probe.notes
    if rung.force == UNCOMPILED.force or probe.outcome.kind is not OutcomeKind.OK:
        return False
    if notes.graphs or notes.last_breadcrumb:
        return False
    return any(each.outcome.failed and each.notes.graphs for each in before)


def fails_otherwise(probe: Probe, first: Probe) -> bool:
    """Whether a run ended in a failure that is not that of the first."""
    if not probe.outcome.failed or probe.signature is None or first.signature is None:
        return False
    return not same_face(probe.signature, first.signature)


def looks_alike(one: Probe, other: Probe) -> bool:
    """Whether two runs failed, and with the same face."""
    return same_face(one.signature, other.signature)
