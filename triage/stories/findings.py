"""Everything one run has learned so far. Each step of a run adds to it; a report can be made of it at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from triage.environments.describe import TargetEnvironment
from triage.locate.walk import Walk
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.own_code import OperatorCheck
from triage.model.report import AblationRow
from triage.probe.target import Target
from triage.reduce.choose import Reproduced
from triage.reduce.compare import Shows
from triage.reduce.interface import Problem
from triage.session.session import Session
from triage.trial.runner import ForkServerRunner


@dataclass
class Findings:
    """What is known. `incomplete` says why the run ended early, in words."""

    session: Session
    target: Target
    command: tuple[str, ...]
    walk: Walk
    environment: TargetEnvironment | None = None
    cases: tuple[GraphCase, ...] = ()
    capture_note: str | None = None
    asked: tuple[Problem, Shows | None] | None = (
        None  # what answered for the rungs: its graphs, and the comparison that shows it
    )
    reproduced: Reproduced | None = None
    reproducer_note: str | None = None
    operator_checks: tuple[OperatorCheck, ...] = ()  # of the custom operators in the failing graph
    ablation: tuple[AblationRow, ...] = ()
    workarounds: tuple[str, ...] = ()
    first_wrong: GraphNode | None = None  # of a wrong result: the operation of the reproducer where it begins
    notes: list[str] = field(default_factory=list)
    incomplete: str | None = None
    runner: ForkServerRunner | None = None  # of candidates, once it is likely that there will be some

    def forget(self) -> None:
        """Drop what was found after the stage: another one is to blame."""
        self.cases, self.capture_note, self.asked = (), None, None
        self.reproduced, self.reproducer_note = None, None
        self.operator_checks, self.ablation, self.workarounds, self.first_wrong = (), (), (), None

    def release(self) -> None:
        """End what still runs for these findings."""
        self.walk.stop()
        if self.runner is not None:
            self.runner.close()
            self.runner = None


def candidate_runner(found: Findings) -> ForkServerRunner:
    """The runner of candidates. The findings own it: `release` ends it."""
    session = found.session
    found.runner = ForkServerRunner(found.target.python, jobs=session.settings.jobs or None, neutral=session.neutral)
    found.runner.until(session.clock.end())
    return found.runner
