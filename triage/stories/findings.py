"""Everything one run has learned so far. Each step of a run adds to it; a report can be made of it at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from triage.culprit.fake_results import FakeWrong
from triage.culprit.first_diverging import Diverging
from triage.culprit.given_wrong import GivenWrong
from triage.culprit.settings import Setting
from triage.culprit.ways_round.spellings import Spelling
from triage.environments.describe import TargetEnvironment
from triage.locate.walk import Walk
from triage.model.accuracy import WrongResult
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.own_code import OperatorCheck
from triage.model.report import AblationRow, Condition, SubsystemSearch, WayRound
from triage.model.text import words
from triage.probe.run import Probe
from triage.probe.target import Target
from triage.reduce.failing_comparison import FailingComparison, PassingGraphs
from triage.reduce.interface import Problem, told_as_ours
from triage.reduce.verifying import Reproduced
from triage.report.trace import TraceWork
from triage.session.session import Session
from triage.stories.way_ahead import WayAhead
from triage.trial.runner import ForkServerRunner


class GraphAnswer(NamedTuple):
    """Captured graphs that fail as the script does, so that they answer for it on every rung.

    `source` is the script of the one that was run, `shows` the comparison that fails where results are compared.
    """

    problem: Problem
    source: str
    shows: FailingComparison | None = None  # where results are compared


@dataclass(frozen=True)
class Silent:
    """A script that raises nothing as it `passed`, and as it was `compared`; and what is said of the operation in doubt."""

    passed: Probe
    compared: Probe
    note: str


@dataclass(frozen=True)
class GivenUp:
    """A reproducer whose conclusion was given up, for when the same is concluded again (`stories/given_up.py`).

    `found` are fields of the findings by their names, `question` is the graph and the way in which it is wrong.
    """

    question: tuple[object, ...]
    found: dict[str, Any]


# What stays where another stage turns out to be to blame; all else that is found is found for one.
_WHATEVER_THE_STAGE = words(
    "session target command walk environment passing_graphs silent given_up notes incomplete bug trace_work runner"
)


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
    # The operation that is wrong by itself, where the whole graph only rounds otherwise, or is wrong in another way.
    alone: GraphCase | None = None
    traced: str = ""  # how it is known that what is wrong in another way comes of it
    silent: Silent | None = None  # where that is the failure of a script which passes
    graph_answer: GraphAnswer | None = None  # what answered for the rungs
    passing_graphs: PassingGraphs = field(default_factory=PassingGraphs)  # whole graphs that were compared with eager
    given_up: GivenUp | None = None  # for when that graph is to blame after all
    also_wrong: tuple[WrongResult, ...] = ()  # in the same call, and known to be another failure
    reproduced: Reproduced | None = None
    reproducer_note: str | None = None
    operator_checks: tuple[OperatorCheck, ...] = ()  # of the custom operators in the failing graph
    ablation: tuple[AblationRow, ...] = ()
    workarounds: tuple[str, ...] = ()
    cures: tuple[Setting, ...] = ()  # the settings with which the reproducer passes, the gentlest first
    spellings: tuple[Spelling, ...] = ()  # and those of a call
    ways_round: tuple[WayRound, ...] = ()
    no_ways_round: tuple[str, ...] = ()  # changes with which the script fails still, in words
    in_vain: tuple[str, ...] = ()  # and those of them with which it fails as it did
    conditions: tuple[Condition, ...] = ()
    indifferent: tuple[str, ...] = ()
    any_operation: bool = False  # what is left in the reproducer is not to blame: another operation fails as well
    subsystem: SubsystemSearch | None = None
    lowered: tuple[str, ...] = ()  # the nodes of the reproducer's graphs that Inductor lowers
    first_wrong: GraphNode | None = None  # of a wrong result: the operation of the reproducer where it begins
    diverging: Diverging | None = None  # and that of the program's own graph
    given_wrong: GivenWrong | None = None  # of what is raised: the value of the reproducer that it comes of
    fake_wrong: FakeWrong | None = None  # the operation whose fake result, not eager's, the failure comes of
    conversion: str = ""  # the dtype of the reproducer's only operation, a conversion of what does not fit into that
    raised_by_eager: bool = False  # it raises what the reproducer raises, in the backward pass that the compiler traces
    notes: list[str] = field(default_factory=list)
    incomplete: str | None = None
    bug: Exception | None = None  # of our own
    trace_work: TraceWork | None = None
    way_ahead: WayAhead | None = None  # the first way round, where its run has begun before its turn
    runner: ForkServerRunner | None = None  # of candidates, once it is likely that there will be some

    def forget(self) -> None:
        """Drop what was found after the stage: another one is to blame."""
        self.drop_way_ahead()
        for each in fields(self):
            if each.name not in _WHATEVER_THE_STAGE:
                setattr(self, each.name, each.default)

    def shorten(self, what: str) -> None:
        """The budget left no time for all that was to be done: the report is a partial one, as where it ended by then."""
        self.incomplete = self.incomplete or f"{self.session.settings.budget_ended} before {what}"

    def met_bug(self, error: Exception) -> None:
        """A step ended by a mistake of ours: what was found by then is kept, and the report says so."""
        self.incomplete, self.bug = self.incomplete or told_as_ours(error), self.bug or error

    def drop_way_ahead(self) -> None:
        """End that run: its change is not the one that comes first."""
        ahead, self.way_ahead = self.way_ahead, None
        if ahead is not None:
            ahead.drop()

    def release(self) -> None:
        """End what still runs for these findings."""
        self.drop_way_ahead()
        self.walk.stop()
        if self.runner is not None:
            self.runner.close()
            self.runner = None


def candidate_runner(found: Findings) -> ForkServerRunner:
    """The runner of candidates. The findings own it: `release` ends it."""
    session = found.session
    found.runner = ForkServerRunner(
        found.target.python, jobs=session.settings.jobs or None, neutral=session.neutral, kernels=session.kernels
    )
    found.runner.until(session.clock.end())
    found.walk.ready = found.runner.is_ready
    return found.runner
