"""What an engine is given, and what it ends in.

A runner executes candidates and reports facts; an oracle judges the facts; an engine proposes candidates until nothing
smaller fails the same way. `Reduction` is the result of an engine, also when it was interrupted: it is then the best
candidate so far, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from triage.judge.asking import StopReductionError
from triage.judge.naming import one_line
from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase
from triage.model.rungs import UNCOMPILED
from triage.model.stage import Stage, Verdict
from triage.reduce.printing.printer import Form
from triage.trial.interface import Resources
from triage.trial.share import MOST_KEPT_SECONDS


@dataclass(frozen=True)
class SiblingScript:
    """Another failure that was met, and a script that shows it.

    `made_up`: where that holds values that the program had, scripts that hold none and may show it too; else None.
    """

    signature: FailureSignature
    source: str
    made_up: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Problem:
    """What an engine is given: the failure, where it was found, and everything captured of it (most suspect first)."""

    signature: FailureSignature
    stage: Stage
    rung: str  # backend of the lowest rung that fails; empty where that is the program's own, which a candidate brings
    direction: str | None
    cases: tuple[GraphCase, ...]
    workdir: Path  # private to the engine, inside the run directory
    evidence: tuple[str, ...] = ()  # op names in the error text, e.g. aten.lerp.Scalar
    torch_version: str = ""
    passing: str = UNCOMPILED.name  # backend of the rung below, where it passes
    own_rung: str | None = None  # of the program's own backend, above `rung`, where it was seen to fail the same way
    operation_only: bool = False  # one that is left alone, or the outline of a text, is all that is asked for
    small: bool = False  # what is wrong is small throughout
    door: bool = False  # it fails in another door of the compiler than torch.compile
    siblings: tuple[SiblingScript, ...] = ()  # known before the reduction
    include_data: bool = False  # scripts of other failures may hold values that the program had
    recalled: Mapping[str, Verdict] = field(default_factory=dict)  # verdicts of an earlier run, by `driver.digest`
    verified: Mapping[str, Any] = field(default_factory=dict)  # what fresh processes showed in it (`choose`)


UNREDUCED = "none"  # the engine of a graph, or a script, that is shown as it is


@dataclass(frozen=True)
class Reduction:
    """The smallest candidate that was judged the same failure. `ops` counts graph operations in `source`.

    `enough`: one operation is left, or a text of which the outline can be seen, and nothing else was asked for.
    """

    source: str
    engine: str
    case: str  # graph | source
    ops: int | None
    queries: int
    seconds: float
    minimal: bool
    complete: bool
    graph: GraphCase | None = None
    form: Form | None = None  # how `graph` is printed
    passing: str | None = None  # nearest passing script
    passing_difference: str | None = None
    siblings: tuple[SiblingScript, ...] = ()
    notes: tuple[str, ...] = ()
    enough: bool = False
    larger: tuple[Reduction, ...] = ()  # found on the way, the smallest first: for when this one does not hold
    interrupted: bool = False  # by ctrl-C, which engines keep to themselves so that the best candidate is not lost
    bug: Exception | None = None  # of our own, which ended the search: kept to itself for the same reason
    private: str | None = None  # what is run, where `source` needs data that it must not hold
    needs: tuple[str, ...] = ()  # the files that `source` reads then


@dataclass(frozen=True)
class NoReduction:
    """No candidate failed the same way. `reason` is a sentence for the report.

    `passes_whole`: what was to be reduced was asked as it is, too.
    """

    reason: str
    siblings: tuple[SiblingScript, ...] = ()
    interrupted: bool = False
    bug: Exception | None = None
    passes_whole: bool = False


def header_of(problem: Problem) -> str:
    """The comment at the top of a graph's script: what fails, at which stage, and on which torch."""
    version = f"; seen on torch {problem.torch_version}" if problem.torch_version else ""
    wrong = problem.signature.wrong
    what = one_line(problem.signature) if wrong is None else f"Wrong result: {wrong.words()}."
    return f"{what}\nStage {problem.stage.value}{version}."


def told_as_ours(bug: Exception) -> str:
    """What ended a step that was not to end so, in the words of a report."""
    return f"triage met a bug of its own ({type(bug).__name__})"


@dataclass
class Course:
    """How far a reduction came and what ended it: the end of the budget, ctrl-C, a bug of ours. What was found is kept.

    `out_of_time` says in words that the budget ended: "the time budget was spent".
    """

    out_of_time: str
    began: float = field(default_factory=time.monotonic)
    stopped: str = ""  # what ended it early, in words
    interrupted: bool = False
    bug: Exception | None = None

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """What is raised inside ends that part of the reduction, and nothing else."""
        try:
            yield
        except StopReductionError:
            self.stopped = self.out_of_time
        except KeyboardInterrupt:
            self.stopped, self.interrupted = "it was interrupted", True
        except Exception as error:  # noqa: BLE001  what was found until then is not lost by it
            self.stopped, self.bug = told_as_ours(error), error

    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def subject(self) -> str:
        """What it reduces, as a reader is told."""
        ...

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """Reduce. KeyboardInterrupt may arrive at any moment."""
        ...


class SafeEngine:
    """An engine that raises nothing but interrupts: after a bug of ours in one, the next has its turn.

    `met_bug` is told of each; `late` where the budget of the run may have cut the search short, and no limit of the engine's own.
    """

    def __init__(self, engine: Engine, met_bug: Callable[[Exception], None], late: Callable[[], None]) -> None:
        self._engine, self._met_bug, self._late = engine, met_bug, late
        self.name, self.subject = engine.name, engine.subject

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """What the engine found. It may have kept some of the time for its last steps, which do not take all of it."""
        found: Reduction | NoReduction
        try:
            found = self._engine.reduce(problem, resources)
        except Exception as error:  # noqa: BLE001  engines keep what they found; of this one nothing is known
            found = NoReduction(told_as_ours(error), bug=error)
        if found.bug is not None:
            self._met_bug(found.bug)
        cut = isinstance(found, NoReduction) or not found.complete
        if cut and resources.budget.left() <= MOST_KEPT_SECONDS:
            self._late()
        return found
