"""A bug of our own in an engine costs what that engine had yet to find, and nothing that was found before."""

from __future__ import annotations

from collections.abc import Callable

from triage.judge.asking import Budget
from triage.judge.judgement import Oracle
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction, told_as_ours
from triage.trial.interface import CandidateRunner


class Sound:
    """An engine that raises nothing but interrupts; `met` is told of each bug, and the next engine has its turn."""

    def __init__(self, engine: Engine, met: Callable[[Exception], None]) -> None:
        self._engine, self._met = engine, met
        self.name, self.subject = engine.name, engine.subject

    def reduce(
        self, problem: Problem, runner: CandidateRunner, oracle: Oracle, budget: Budget, emit: Callable[..., None]
    ) -> Reduction | NoReduction:
        """What the engine found, also where a bug ended its search."""
        found: Reduction | NoReduction
        try:
            found = self._engine.reduce(problem, runner, oracle, budget, emit)
        except Exception as error:  # noqa: BLE001  engines keep what they found; of this one nothing is known
            found = NoReduction(self.name, told_as_ours(error), bug=error)
        if found.bug is not None:
            self._met(found.bug)
        return found
