"""What a run of the script told: lines that it prints, logs or writes, and which of them are others than those of another run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from triage.judge.lines import Key, Lines
from triage.judge.printed import CLOSER, FINELY, REPEATS, alike, differing, finely_alike, finely_differing, otherwise
from triage.judge.signature import signature_of
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe


class Measure(NamedTuple):
    """Which lines of two runs differ, how alike two uncompiled ones must be, and which lines two compiled ones tell alike."""

    differing: Callable[[Lines, Lines], list[Key]]
    repeats: float
    alike: Callable[[Sequence[Key], Lines, Lines, Lines], list[Key]]


ROUGH = Measure(differing, REPEATS, alike)
MEASURES = (ROUGH, Measure(finely_differing, FINELY / CLOSER, finely_alike))


@dataclass(frozen=True)
class Told:
    """What the uncompiled script tells, which of its lines are others compiled, and what is said of a run that tells others."""

    lines: Lines
    keys: tuple[Key, ...]
    words: str
    read: Callable[[Probe], Lines]
    measure: Measure

    def judged(self, probe: Probe) -> Probe:
        """The probe; it fails with a wrong result where it passed but for what it told."""
        if probe.outcome.kind is not OutcomeKind.OK or probe.notes.stopped_early or probe.cancelled:
            return probe
        if set(self.keys).isdisjoint(self.measure.differing(self.lines, self.read(probe))):
            return probe
        outcome = otherwise(probe.outcome, self.words)
        return replace(probe, outcome=outcome, signature=signature_of(outcome))
