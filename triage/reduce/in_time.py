"""Was it the budget of the run that ended a search, or a limit of the engine's own?"""

from __future__ import annotations

from collections.abc import Callable

from triage.judge.asking import Budget
from triage.judge.judgement import Oracle
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction
from triage.trial.interface import CandidateRunner
from triage.trial.share import MOST_KEPT_SECONDS


class InTime:
    """An engine whose search may be cut short by the budget, which `late` is told of."""

    def __init__(self, engine: Engine, late: Callable[[], None]) -> None:
        self._engine, self._late = engine, late
        self.name, self.subject = engine.name, engine.subject

    def reduce(
        self, problem: Problem, runner: CandidateRunner, oracle: Oracle, budget: Budget, emit: Callable[..., None]
    ) -> Reduction | NoReduction:
        """What the engine found. It may have kept some of the time for its last steps, which do not take all of it."""
        found = self._engine.reduce(problem, runner, oracle, budget, emit)
        cut = isinstance(found, NoReduction) or not found.complete
        if cut and budget.left() <= MOST_KEPT_SECONDS:
            self._late()
        return found
