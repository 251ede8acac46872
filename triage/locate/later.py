"""A run that came past the point at which the script as it is fails, and failed there by something else: it passed.

A program may hold two failures. The one that is looked for is what the script as it is dies of; what a rung below meets
calls or a backward pass later, with another face, says nothing of that. Uncompiled it does: what eager raises in a backward
pass a compiler may meet before.
"""

from __future__ import annotations

from dataclasses import replace

from triage.locate.leftovers import fails_otherwise
from triage.model.outcome import BoundaryPoint
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe


def passed_it(probe: Probe, first: Probe, point: BoundaryPoint | None) -> Probe:
    """The run as one that passed, where it did; else as it is. `point`: where the `first` one raised, in compiled code.

    Where no call was counted by then (`torch.export`, and what else is no compiled function) nothing lies behind it for sure.
    """
    reached = probe.notes.point
    if point is None or not point.calls or probe.rung == UNCOMPILED.force:
        return probe
    if probe.cancelled or not fails_otherwise(probe, first):
        return probe
    if reached == point or reached.calls < point.calls or reached.backwards < point.backwards:
        return probe
    outcome = replace(probe.outcome, kind=OutcomeKind.OK, exception=None, detail="", stacks="")
    return replace(probe, outcome=outcome, signature=None, later=probe.signature)
