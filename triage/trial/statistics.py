"""What each phase of a reduction cost and brought, for the journal and the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from triage.model.stage import Verdict


@dataclass
class PhaseCount:
    """Counts of one phase. `repeated` were answered from memory, `refused` were never run."""

    queries: int = 0
    same_failure: int = 0
    no_failure: int = 0
    unresolved: int = 0
    refused: int = 0
    repeated: int = 0
    accepted: int = 0
    seconds: float = 0.0


@dataclass
class PassCount:
    """What one pass proposed (places that could be simpler), and in how many of them the failure survived."""

    proposed: int = 0
    made: int = 0


class Statistics:
    """Counts per phase and per pass, in the order they began."""

    def __init__(self) -> None:
        self.phase = "start"
        self._phases: dict[str, PhaseCount] = {}
        self._passes: dict[str, PassCount] = {}

    def begin(self, phase: str) -> None:
        self.phase = phase

    def query(self, verdict: Verdict, seconds: float) -> None:
        count = self._count()
        count.queries += 1
        count.seconds += seconds
        if verdict is Verdict.SAME_FAILURE:
            count.same_failure += 1
        elif verdict is Verdict.NO_FAILURE:
            count.no_failure += 1
        else:
            count.unresolved += 1

    def refused(self) -> None:
        self._count().refused += 1

    def repeated(self) -> None:
        self._count().repeated += 1

    def accepted(self) -> None:
        self._count().accepted += 1

    def proposed(self, name: str, made: bool) -> None:
        """One proposal of the pass `name`, and whether it was made."""
        count = self._passes.setdefault(name, PassCount())
        count.proposed += 1
        count.made += made

    def as_data(self) -> dict[str, dict[str, dict[str, Any]]]:
        """{"phases": {phase: counts}, "passes": {pass: counts}}, ready for JSON."""
        return {
            "phases": {name: asdict(count) for name, count in self._phases.items()},
            "passes": {name: asdict(count) for name, count in self._passes.items()},
        }

    def _count(self) -> PhaseCount:
        return self._phases.setdefault(self.phase, PhaseCount())
