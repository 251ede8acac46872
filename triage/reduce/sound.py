"""What ends a search before its time costs no more than what it had yet to find: a bug of our own, or the end of the budget."""

from __future__ import annotations

from collections.abc import Callable

from triage.reduce.interface import Engine, NoReduction, Problem, Reduction, told_as_ours
from triage.trial.interface import Resources
from triage.trial.share import MOST_KEPT_SECONDS


class Sound:
    """An engine that raises nothing but interrupts: the next one has its turn.

    `met` is told of each bug, `late` where the budget of the run may have cut the search short, and no limit of the engine's own.
    """

    def __init__(self, engine: Engine, met: Callable[[Exception], None], late: Callable[[], None]) -> None:
        self._engine, self._met, self._late = engine, met, late
        self.name, self.subject = engine.name, engine.subject

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """What the engine found. It may have kept some of the time for its last steps, which do not take all of it."""
        found: Reduction | NoReduction
        try:
            found = self._engine.reduce(problem, resources)
        except Exception as error:  # noqa: BLE001  engines keep what they found; of this one nothing is known
            found = NoReduction(told_as_ours(error), bug=error)
        if found.bug is not None:
            self._met(found.bug)
        cut = isinstance(found, NoReduction) or not found.complete
        if cut and resources.budget.left() <= MOST_KEPT_SECONDS:
            self._late()
        return found
