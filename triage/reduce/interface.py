"""What an engine is given, and what it ends in.

A runner executes candidates and reports facts; an oracle judges the facts; an engine proposes candidates until nothing
smaller fails the same way. `Reduction` is the result of an engine, also when it was interrupted: it is then the best
candidate so far, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from triage.judge.asking import Budget
from triage.judge.judgement import Oracle
from triage.judge.signature import FailureSignature, one_line
from triage.model.graphcase import GraphCase
from triage.model.rungs import UNCOMPILED
from triage.model.stage import Stage, Verdict
from triage.reduce.printing.printer import Form
from triage.trial.interface import CandidateRunner


@dataclass(frozen=True)
class Met:
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
    operation_only: bool = False  # one that is left alone is all that is asked for
    small: bool = False  # what is wrong is small throughout
    door: bool = False  # it fails in another door of the compiler than torch.compile
    met: tuple[Met, ...] = ()  # other failures, known before: as `Reduction.siblings`
    include_data: bool = False  # scripts of other failures may hold values that the program had
    recalled: Mapping[str, Verdict] = field(default_factory=dict)  # verdicts of an earlier run, by `driver.digest`
    verified: Mapping[str, Any] = field(default_factory=dict)  # what fresh processes showed in it (`choose`)


@dataclass(frozen=True)
class Reduction:
    """The smallest candidate that was judged the same failure. `ops` counts graph operations in `source`.

    `enough`: one operation is left, and nothing else was asked for.
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
    siblings: tuple[Met, ...] = ()
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
    siblings: tuple[Met, ...] = ()
    interrupted: bool = False
    bug: Exception | None = None
    passes_whole: bool = False


def header_of(problem: Problem) -> str:
    """What fails, where, and on which torch; the comment at the top of a reproducer."""
    version = f"; seen on torch {problem.torch_version}" if problem.torch_version else ""
    wrong = problem.signature.wrong
    what = one_line(problem.signature) if wrong is None else f"Wrong result: {wrong.words()}."
    return f"{what}\nStage {problem.stage.value}{version}."


def told_as_ours(bug: Exception) -> str:
    """What ended a step that was not to end so, in the words of a report."""
    return f"triage met a bug of its own ({type(bug).__name__})"


class Engine(Protocol):
    name: str
    subject: str  # what it reduces, as a reader is told

    def reduce(
        self, problem: Problem, runner: CandidateRunner, oracle: Oracle, budget: Budget, emit: Callable[..., None]
    ) -> Reduction | NoReduction:
        """Reduce. `emit(kind, **facts)` tells the listeners what goes on; KeyboardInterrupt may arrive at any moment."""
        ...
