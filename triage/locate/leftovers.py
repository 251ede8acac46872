"""Runs that meet what an earlier run of the script left behind: they say nothing of the rung on which they ran.

A program that refuses to write over its own results fails otherwise; one that goes on from its checkpoint passes, and has nothing
left to compile. Both are told by running the script once more as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from triage.judge.likeness import same_face
from triage.model.rungs import AS_IS, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind, Stage
from triage.probe.run import Probe

AS_IT_IS = Rung(AS_IS, None, Stage.NONE)
TRIES_AGAIN = 2  # more runs of a script that compiled nothing in a later one, before chance is ruled out


class Leftovers(ABC):
    """The part of `Visits` that tells such runs. Its state is that of the visits."""

    rungs: tuple[Rung, ...]
    top: int
    seen: dict[str, list[Probe]]
    spoiled: Probe | None
    spoiled_by: tuple[str, ...]
    met: dict[str, Probe]
    idle: dict[str, list[Probe]]
    _began_again: bool
    _ended_by_us: list[str]

    @property
    @abstractmethod
    def start(self) -> Probe:
        """The first run of the script as it is."""

    @abstractmethod
    def ask(self, rung: Rung, name: str) -> Probe:
        """Run the script once on a rung."""

    @abstractmethod
    def announce(self, rung: Rung, probe: Probe) -> None:
        """Tell the listeners how a probe ended."""

    def compiled_nothing(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run passed and had compiled nothing, on a rung that compiles, where the script had compiled and failed."""
        failed = [each for each in self.seen.get(self.rungs[self.top].name, []) if each.outcome.failed]
        notes = probe.notes
        if (
            rung.force == UNCOMPILED.force
            or probe.outcome.kind is not OutcomeKind.OK
            or notes.graphs
            or notes.last_breadcrumb
        ):
            return False
        return any(each.notes.graphs for each in failed)

    def says_nothing(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run says nothing of its rung: it met what an earlier run of the script had left behind, or compiled nothing.

        A program that refuses to write over its own results fails uncompiled, and not as it did; but so it does now as it is.
        """
        if self.compiled_nothing(rung, probe):
            return self._passed_by(rung, probe)
        if not self.fails_otherwise(probe):
            return False
        if self.spoiled is None and rung is UNCOMPILED and not self._began_again:
            self._began_again = True
            again = self.ask(AS_IT_IS, f"{AS_IS}-again")
            self.announce(AS_IT_IS, again)
            if looks_alike(again, probe):
                self.spoiled, self.spoiled_by = again, tuple(self._ended_by_us)
                told = {
                    name: [each for each in probes if not looks_alike(each, again)]
                    for name, probes in self.seen.items()
                }
                self.met |= {name: self.seen[name][0] for name, probes in told.items() if not probes}
                self.seen = {name: probes for name, probes in told.items() if probes}
        if self.spoiled is None or not looks_alike(self.spoiled, probe):
            return False
        self.met[rung.name] = probe
        return True

    def _passed_by(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run that passed, and compiled nothing, says nothing of its rung: on the highest it is a pass all the same.

        A program that goes on from its checkpoint, or finds its result there, has nothing left to compile; then it has not as it
        is, either. One that takes another way by chance compiles something in some of its runs.
        """
        top = self.rungs[self.top].name
        if self.spoiled is None and self.start.outcome.failed and not self._began_again:
            self._began_again = True
            for number in range(TRIES_AGAIN):
                again = self.ask(AS_IT_IS, f"{AS_IS}-again{f'-{number + 1}' if number else ''}")
                self.announce(AS_IT_IS, again)
                if again.cancelled or not self.compiled_nothing(AS_IT_IS, again):
                    self.seen[top] += [] if again.cancelled or self.fails_otherwise(again) else [again]
                    break
            else:
                self.spoiled = again
                self.seen[top] = [
                    each for each in self.seen[top] if not self.compiled_nothing(self.rungs[self.top], each)
                ]
        if self.spoiled is None and rung.name == top:
            return False
        self.idle.setdefault(rung.name, []).append(probe)
        self.met.setdefault(rung.name, probe)
        return True

    def fails_otherwise(self, probe: Probe) -> bool:
        """Whether a probe ended in a failure that is not the script's."""
        first = self.start
        if not probe.outcome.failed or probe.signature is None or first.signature is None:
            return False
        return not same_face(probe.signature, first.signature)


def looks_alike(one: Probe, other: Probe) -> bool:
    """Whether two runs failed, and with the same face."""
    return one.signature is not None and other.signature is not None and same_face(one.signature, other.signature)
