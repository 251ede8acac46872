"""What is known of a script by now: from its own runs, and from its captured graph, which may answer for it first.

What the graph told counts until the script's own runs have confirmed it, or tell otherwise. They run beside what is asked next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from triage.locate.beside import Beside
from triage.locate.conclude import (
    Conclusion,
    conclude,
    decided_by_memory,
    fails_as_compiled,
    fails_in_place,
    its_own_branch,
    its_own_fault,
    not_to_blame,
)
from triage.locate.graphs_compared import only_unsteady, with_graphs_compared, with_rounding_of_dynamo
from triage.locate.ladder import suspect
from triage.locate.leftovers import looks_alike
from triage.locate.visits import Visits
from triage.locate.which_graph import Apart
from triage.model.rungs import UNCOMPILED, Rung
from triage.model.stage import OwnFault, Stage
from triage.probe.launch import Cancel
from triage.probe.run import Probe


@dataclass
class Answers(Visits):
    """What was seen, per rung, and what it comes to. It is readable at any moment, also after an interrupt."""

    other_stream: Probe | None = None
    as_compiled: Probe | None = None  # uncompiled, of a script that asks whether it is compiled, and is told that it is
    in_place: Probe | None = None  # of a script that fails in another door of the compiler: a plain call in its place
    unwritten: tuple[str, ...] | None = None  # what gives the unwritten memory that decides; None: not asked
    unwrapped: OwnFault | None = None  # of a script that fails with its module wrapped: what runs without that show
    seeded: dict[int, tuple[int, int]] = field(default_factory=dict)  # of a flaky failure: (runs, failures) by seed
    on_graph: dict[str, Probe] = field(default_factory=dict)  # what the captured graph does by itself, per rung
    compared: Probe | None = None
    graphs: int = 0  # that the script as it is compiles, where the run in `compared` may have ended before
    checked: Probe | None = None  # the graphs compared, of a script whose own check fails
    checked_first: Probe | None = None  # that, of the rung of the script as it is, asked before the ladder
    apart: Apart | None = None  # of the run in `checked`: which of several wrong graphs the check fails by
    rounded_otherwise: Probe | None = None  # uncompiled, each result a rounding off: whether its check bears that
    failed_besides: frozenset[str] = frozenset()  # rungs on which such a check fails by what is not the failure told
    operators_break: bool = False  # custom operators do not what they say: no comparison with eager is a measure
    emulated: Probe | None = None  # that script where Inductor rounds as eager does
    _beside: Beside = field(default_factory=Beside)  # runs of the script that confirm what its graph told

    def conclusion(self) -> Conclusion:
        """What is known now."""
        found = conclude(self.rungs, self.top, self.evidence)
        if self.unwritten:
            return decided_by_memory(found, self.unwritten)
        if found.compiled_nothing:
            return found
        if found.fails_uncompiled:
            if self.in_place is not None and fails_in_place(self.in_place):
                return its_own_fault(found)
            wrapped = found.own_fault is not None and self.start.notes.wraps_module
            return replace(found, own_fault=self.unwrapped or OwnFault.WRAPPED) if wrapped else found
        if self.as_compiled is not None and fails_as_compiled(self.as_compiled, found):
            return its_own_branch(found, self.as_compiled.notes.asked_if_compiled)
        if self.other_stream is not None and self.other_stream.outcome.failed:
            return not_to_blame(found)
        if self.checked is None or (self.operators_break and self.checked.notes.wrong is None):
            alone = self.evidence[found.failing.name] if found.failing is not None else []
            return with_rounding_of_dynamo(found, self.rounded_otherwise, alone, self.checked_first)
        return with_graphs_compared(found, self.checked, self.rounded_otherwise)

    @property
    def evidence(self) -> dict[str, list[Probe]]:
        """What was seen per rung: of the script, and of its graph where the script was not run. Both count where both fail.

        A run that compared its graphs, found all of them right, and fails as the first one did is another run of the script.
        """
        found = dict(self.seen)
        again = self.checked_first
        if (
            again is not None
            and again.notes.wrong is None
            and not only_unsteady(again)
            and looks_alike(again, self.start)
        ):
            found[self.own_rung.name] = [*found.get(self.own_rung.name, ()), again]
        for name, probe in self.on_graph.items():
            of_script = self.seen.get(name, [])
            if not of_script or (probe.outcome.failed and of_script[-1].outcome.failed):
                found[name] = [*of_script, probe]
        return found

    def confirm_beside(self) -> None:
        """Begin with the runs of the script that any conclusion needs, and return: uncompiled, and below the suspected rung.

        Where one process is to run at a time they wait for `confirmed`.
        """
        self.moot = Cancel(self.session.cancel)
        self._begin_beside(UNCOMPILED, self.rungs[self.suspected() - 1])

    def _begin_beside(self, *rungs: Rung) -> None:
        wanted = [rung for rung in dict.fromkeys(rungs) if self._unseen(rung) and rung not in self._beside.rungs]
        if wanted and self.jobs() > 1:
            self._beside.begin(wanted, self.visit, self.session.cancel)

    def heard_of_graph(self, answers: Mapping[str, Probe]) -> bool:
        """Take what the graph does by itself for the answers of the rungs, if that settles the stage. Whether it does."""
        self.on_graph = dict(answers)
        found = self.conclusion()
        to_blame = found.settled and found.monotone and found.stage not in (Stage.NONE, Stage.SCRIPT, Stage.DYNAMO)
        if not to_blame or not any(probe.outcome.failed for probe in answers.values()):
            self.on_graph = {}
            return False
        if found.passing is not None:
            self._begin_beside(found.passing)
        for rung in self.rungs:
            if self._unseen(rung) and rung not in self._beside.rungs and rung.name in self.on_graph:
                self.announce(rung, self.on_graph[rung.name])
        return True

    def confirmed(self) -> bool:
        """Wait for the script's own answers to the rungs that the conclusion rests on. False where its graph told otherwise.

        Then what the graph told is forgotten. Raises BudgetSpentError where the budget ended a run.
        """
        self.alone()
        if not self.on_graph or self.spoiled is not None:
            return True
        self.visit(self._unconfirmed())
        self._drop_standby()
        if not self._told_otherwise():
            return True
        self.on_graph = {}
        return False

    def _unconfirmed(self) -> list[Rung]:
        below = self.conclusion().passing
        return [rung for rung in dict.fromkeys((UNCOMPILED, below)) if rung is not None and self._unseen(rung)]

    def is_confirmed(self) -> bool:
        """Whether `confirmed` would run the script no more: nothing that is begun now is in the way of such a run."""
        if self._beside.busy or self._crowded or self.refuted:
            return False
        return not self.on_graph or not self._unconfirmed()

    @property
    def refuted(self) -> bool:
        """Whether a run beside has told otherwise than the graph: nothing is gained by what is asked of that any more."""
        return self.spoiled is None and self._told_otherwise()

    def _told_otherwise(self) -> bool:
        told = [(probe, self.seen.get(name)) for name, probe in self.on_graph.items()]
        return any(runs and runs[-1].outcome.failed != probe.outcome.failed for probe, runs in told)

    def alone(self) -> None:
        """Wait for what runs beside: whatever is run next has the script's files and ports for itself. Raises as they did."""
        self._beside.join()
        self._ask_crowded()

    def stop(self) -> None:
        """End what still runs beside."""
        self._drop_ahead()
        self._ended_ahead()
        self._beside.stop()
        self._drop_standby()

    def suspected(self, failed: Probe | None = None) -> int:
        """The rung that a failure (that of the first run) speaks for, as an index."""
        failed = failed or self.start
        assert failed.signature is not None
        stages = [rung.stage for rung in self.rungs]
        guess = suspect(failed.signature, failed.outcome)
        index = min(stages.index(guess), self.top) if guess in stages else self.top
        if self.own_rung.stage is Stage.BACKEND:
            index = self.top
        return index

    def _should_pass(self, rung: Rung) -> bool:
        if not self._unseen(rung) or rung not in self.rungs or self.start.signature is None:
            return False
        return self.rungs.index(rung) < self.suspected()

    def _unseen(self, rung: Rung) -> bool:
        return rung.name not in self.seen
