"""`triage doctor` with an interpreter that says what the test wants and rungs that end as it wants."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triage.environments.describe import TargetEnvironment
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest
from triage.stories.doctor import Check, examine

USABLE: dict[str, Any] = {
    "python": "3.11.7",
    "torch": "2.13.0",
    "compiler": {"version": "g++ 13.2", "path": "/usr/bin/g++"},
    "fork": True,
}


class Bench:
    """What the interpreter says, and how rungs end: `ends` names those that do not pass."""

    def __init__(self, ends: Mapping[str, Outcome] | None = None, **facts: Any) -> None:
        self.ends = ends or {}
        self.facts = USABLE | facts
        self.asked: list[str] = []

    def describe(self, python: str) -> TargetEnvironment:
        facts = self.facts
        return TargetEnvironment(python, facts.get("torch"), facts.get("torch_error"), "", facts)

    def run(self, request: ProbeRequest) -> Probe:
        self.asked.append(request.name)
        outcome = self.ends.get(request.name, Outcome(OutcomeKind.OK, 1.25, 0))
        return Probe(request.name, request.rung, outcome, signature_of(outcome), AgentNotes(), Path("unused"))


def examined(bench: Bench | None = None) -> list[Check]:
    """Every check that doctor makes."""
    bench = bench or Bench()
    return list(examine(sys.executable, bench.describe, bench.run))
