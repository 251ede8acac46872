"""The smallest change of the person's own program that leads round the failure: tried on the whole script, not on the reproducer.

A change is run with other texts in the place of some files; nothing on disk is touched. What passes first, the cheapest kinds
before the others, is the way round, unless one that was run beside it is measured as clearly cheaper; `workaround.patch` is that
change for `git apply`. It is never applied here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from triage.culprit.match_known_cause import lies_in_environment
from triage.culprit.ways_round.changes import Change, Program, of_backend
from triage.culprit.ways_round.cost import clearly_cheaper, compiles_nothing, cost_in_words
from triage.culprit.ways_round.patch import patch_of
from triage.judge.likeness import same_face
from triage.locate.conclude import Conclusion, discount, expected_exceptions
from triage.locate.leftovers import AS_IT_IS
from triage.locate.outcomes import is_comparison
from triage.model.accuracy import Comparison
from triage.model.outcome import AgentNotes
from triage.model.report import WayRound
from triage.model.rungs import DEFAULT_BACKEND, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe
from triage.stories.findings import Findings
from triage.stories.spots import Files, program_of
from triage.stories.way_ahead import WayAhead
from triage.stories.ways_judged import (
    had_nothing_to_do,
    has_compiled,
    has_few_calls,
    leads_round,
    owed_to_less,
    was_late,
    what_to_say,
)
from triage.stories.ways_planned import MOST_RUNS, below, name_of, parted, plan
from triage.stories.whose_code import custom_operators, own_code, what_to_mend

NAME = "workaround.patch"
# So long, or so many times what the script takes, runs are begun; and so long one may take: it compiles what failed before.
BEGIN_SECONDS, BEGIN_FACTOR = 30.0, 2.0
RUN_SECONDS, RUN_FACTOR = 60.0, 3.0
COLD_SECONDS = 120.0  # where no run got as far as to compile and pass, nobody knows what a cold compile takes
HELD_SECONDS = 60.0  # besides, for one that was begun early and waits for its turn
QUICK_SECONDS = 10.0  # a script that is quicker is run twice side by side

WORK_DONE = (
    "No way round is told: the script passes as it is by now, since an earlier run has done its work and it goes on from what "
    "that left behind. Put that away, and try the changes by hand."
)


def begin_ways_round(found: Findings) -> None:
    """Begin the run of the change that comes first by what is known, beside what is still asked of the reproducer.

    Not where runs of the script are one at a time, or do not end, nor where values decide: the operation may turn out another.
    And not before the script has confirmed what its graph told: two runs of it may be in each other's way.
    """
    walk, conclusion = found.walk, found.walk.conclusion()
    steady = conclusion.symptom in (Symptom.EXCEPTION, Symptom.CRASH) and walk.spoiled is None
    alone = walk.jobs() < 2 or walk.start.notes.device_share > 0 or not walk.is_confirmed()
    if (
        steady and not alone and worth_trying(found) and not custom_operators(found)
    ):  # they are checked in a run of the script
        found.drop_way_ahead()
        found.way_ahead = _Trials(found, conclusion).begun()


def find_ways_round(found: Findings) -> None:
    """Fill `ways_round` of the findings, and write the patch of the best. Where nothing could be tried a note says why."""
    conclusion = found.walk.conclusion()
    if not worth_trying(found):
        found.drop_way_ahead()
        return
    if conclusion.symptom is Symptom.NONDETERMINISTIC:
        found.notes.append("Ways round were not run: it does not fail every time, so a run that passes shows nothing.")
        return
    found.walk.alone()
    with found.session.timed("ways_round"):
        _Trials(found, conclusion).run()


def worth_trying(found: Findings) -> bool:
    """Whether something fails under a compiler that a change of the program may lead round."""
    settings, conclusion = found.session.settings, found.walk.conclusion()
    if not settings.reduce or settings.reproducer_only or not conclusion.settled or conclusion.door is not None:
        return False
    if not conclusion.stage.needs_compiling or conclusion.outcome is None:
        return False
    if lies_in_environment(conclusion.outcome, conclusion.stage):
        return False  # no change of the program mends the machine
    return not any(each.explains for each in what_to_mend(found, conclusion, own_code(found, conclusion)))


class _Trials:
    """The runs of the changed script, their time, and what they showed."""

    def __init__(self, found: Findings, conclusion: Conclusion) -> None:
        self.found, self.walk, self.conclusion = found, found.walk, conclusion
        self.own_seconds = _own_seconds(found)
        self._end = time.monotonic() + max(BEGIN_SECONDS, BEGIN_FACTOR * self.own_seconds)
        self._runs = 0
        self._expected = expected_exceptions(self.walk.seen)
        compares = conclusion.outcome is not None and is_comparison(conclusion.outcome)
        gradients = self.walk.start.notes.backwards > 0
        self._comparison = Comparison(gradients=gradients, stop=True) if compares else None

    def run(self) -> None:
        files = Files(self.found)
        program = program_of(self.found, files)
        changes = plan(self.found, self.conclusion, program, files)
        ahead = self.found.way_ahead
        if ahead is not None and (not changes or ahead.name != name_of(changes[0])):
            self.found.drop_way_ahead()
        passed: list[tuple[Change, Probe]] = []
        tried: list[tuple[Change, Probe]] = []
        while changes and not passed and self._may_run():
            together, changes = parted(changes, self._side_by_side())
            probes = self._run_together(together)
            tried += zip(together, probes, strict=True)
            passed = self._best_first([pair for pair in tried if self._passes(*pair) and not owed_to_less(pair, tried)])
        if passed and self._work_is_done(passed, tried):
            passed, changes = [], []
            self.found.notes.append(WORK_DONE)
        failed = [(change, probe) for change, probe in tried if self._fails_still(probe)]
        self.found.no_ways_round = tuple(change.words for change, _ in failed)
        self.found.in_vain = tuple(change.words for change, probe in failed if not self._fails_otherwise(probe))
        self.found.notes += what_to_say(program, tried, changes, bool(passed), len(failed) - len(self.found.in_vain))
        if changes and not passed and not self._has_time():
            self.found.shorten("all ways round were tried")
        self._tell(program, passed, None)
        if passed:
            self._write_patch(passed[0][0])
            uncompiled = self._uncompiled(passed[0][1])  # an interrupt costs this alone
            self._tell(program, passed, uncompiled)
            best = self.found.ways_round[0]
            self.found.session.emit("way_round", change=best.change, cost=best.cost, patch=best.patch)

    def begun(self) -> WayAhead | None:
        """The run of the first of them; where its time is measured it waits at its first compiled call."""
        files = Files(self.found)
        program = program_of(self.found, files)
        changes = plan(self.found, self.conclusion, program, files, beforehand=True)
        if not changes or not self._may_run():
            return None
        change = changes[0]
        measured = not has_few_calls(self.walk.seen)

        def run(cancel: Cancel, held: Callable[[Path], None]) -> Probe:
            limit = self._limit() + HELD_SECONDS
            probe = self._ask(change, name_of(change), limit, cancel=cancel, held=held if measured else None)
            if probe.cancelled:
                self.found.session.emit("probe_cancelled", rung=_rung_of(change).name, name=probe.name)
            return probe

        return WayAhead(name_of(change), run, self.found.session.cancel)

    def _tell(self, program: Program, passed: Sequence[tuple[Change, Probe]], uncompiled: AgentNotes | None) -> None:
        """Fill the findings: one way of each kind, the first with the patch, and the backend that passed as a rung."""
        ways: dict[str, WayRound] = {}
        for change, probe in passed:
            ways.setdefault(change.kind, replace(self._way(change, probe, uncompiled), patch=None if ways else NAME))
        known = self._passing_backend(program)
        if known is not None and known.change not in self.found.no_ways_round:  # a rung may be left early
            ways.setdefault(known.kind, known)
        self.found.ways_round = tuple(ways.values())

    def _write_patch(self, change: Change) -> None:
        texts = {path: (change.before[path], text) for path, text in change.texts.items()}
        (self.found.session.directory / NAME).write_bytes(patch_of(texts, self.found.target.cwd))

    def _passing_backend(self, program: Program) -> WayRound | None:
        """The script itself was run on that rung."""
        rung = below(self.conclusion)
        if rung is None or rung.force is None or not self.walk.seen.get(rung.name):
            return None
        if rung.name in self.walk.failed_besides or self.walk.later_on(rung) is not None:
            return None
        change = next(of_backend(program, rung.force), None)
        words = change.words if change is not None else f'Compile with `backend="{rung.force}"`'
        told = "less of the compiler" if rung.force != DEFAULT_BACKEND else "another compiler"
        return WayRound(
            words, "backend", where=change.where if change is not None else None, cost=f"{told}; not measured"
        )

    def _best_first(self, passed: Sequence[tuple[Change, Probe]]) -> list[tuple[Change, Probe]]:
        """In their order, but for the one that all before it are clearly dearer than."""
        best = 0
        for place, (_, probe) in enumerate(passed):
            if self._comparison is None and clearly_cheaper(probe.notes, passed[best][1].notes):
                best = place
        return [*passed[best : best + 1], *passed[:best], *passed[best + 1 :]]

    def _work_is_done(self, passed: Sequence[tuple[Change, Probe]], tried: Sequence[tuple[Change, Probe]]) -> bool:
        """Whether the script passes as it is by now, since an earlier run has done its work: of no change a pass says anything.

        It is asked where all that passed compile nothing and one that left all of it compiled called nothing of it.
        """
        idle = any(change.kind != "function" and had_nothing_to_do(probe) for change, probe in tried)
        if not idle or not all(compiles_nothing(probe.notes) for _, probe in passed):
            return False
        ended = self.walk.ask_changed(AS_IT_IS, "way-as-it-is", {}, self._limit(), self._enough())
        probe = discount(ended, self._expected)
        self.walk.announce(AS_IT_IS, probe, cut=probe.outcome.kind is OutcomeKind.HANG)
        return not probe.outcome.failed

    # -- running ------------------------------------------------------------------------------------------------------

    def _may_run(self) -> bool:
        return self._runs < MOST_RUNS and time.monotonic() < self._end and self._has_time()

    def _has_time(self) -> bool:
        """Whether the budget leaves enough for a run."""
        return self.found.session.clock.left() > min(self.own_seconds, BEGIN_SECONDS / 2)

    def _limit(self) -> float:
        """Of one run, in seconds; never past the budget."""
        floor = RUN_SECONDS if has_compiled(self.walk.seen) else COLD_SECONDS
        return max(1.0, min(max(floor, RUN_FACTOR * self.own_seconds), self.found.session.clock.left() - 1.0))

    def _enough(self) -> float:
        """How long one that goes on past the point of the failure is run, to be measured."""
        return max(RUN_SECONDS, RUN_FACTOR * self.own_seconds) / 2

    def _side_by_side(self) -> int:
        quick = self.own_seconds <= QUICK_SECONDS
        return max(1, min(2 if quick else 1, self.walk.jobs(), MOST_RUNS - self._runs))

    def _run_together(self, changes: Sequence[Change]) -> list[Probe]:
        self._runs += len(changes)
        with self.found.session.pool(len(changes)) as pool:
            probes = list(pool.map(self._asked, changes))
        if len(changes) > 1:  # two runs of one script may be in each other's way
            crowded = [probe.outcome.failed and self._fails_otherwise(probe) for probe in probes]
            for index, change in enumerate(changes):
                if crowded[index] and self._may_run() and not any(map(self._passes, changes[:index], probes)):
                    self._runs += 1
                    probes[index] = self._asked(change, alone=True)
        return probes

    def _asked(self, change: Change, *, alone: bool = False) -> Probe:
        ahead, self.found.way_ahead = self.found.way_ahead, None
        if ahead is not None and ahead.name == name_of(change):
            expired, ended = ahead.expired, ahead.result()
            if not (expired and was_late(ended)):  # else its turn came too late
                probe = self._heard(change, ended)
                if not probe.outcome.failed or not self._fails_otherwise(probe) or not self._may_run():
                    return probe
            alone = True  # others ran beside it
        return self._heard(change, self._ask(change, name_of(change) + ("-alone" if alone else ""), self._limit()))

    def _heard(self, change: Change, probe: Probe) -> Probe:
        """The run, announced, without failures that only show what the program does anyway."""
        judged = discount(probe, self._expected)
        self.walk.announce(_rung_of(change), judged, cut=was_late(judged))
        return judged

    def _ask(self, change: Change, name: str, limit: float, **how: Any) -> Probe:
        self.found.session.emit("engine_step", text=f"trying on the script: {change.words}")
        rung = _rung_of(change)
        return self.walk.ask_changed(rung, name, change.texts, limit, self._enough(), self._comparison, **how)

    def _fails_otherwise(self, probe: Probe) -> bool:
        return not same_face(probe.signature, self.walk.start.signature)

    def _passes(self, change: Change, probe: Probe) -> bool:
        """Whether the script ended as it does uncompiled. That nothing was compiled must be what the change is meant to do."""
        return not probe.cancelled and leads_round(change.kind, probe.outcome.kind, probe.notes)

    def _fails_still(self, probe: Probe) -> bool:
        """Whether a run disproves a change: not one that was late, whatever with."""
        return probe.outcome.failed and not was_late(probe) and not probe.cancelled

    def _uncompiled(self, passed: Probe) -> AgentNotes | None:
        """The script without a compiler, measured alone like the changed one; None where that is not worth a run."""
        if passed.notes.steps is None or self._comparison is not None or not self._may_run():
            return None
        self._runs += 1
        again = replace(UNCOMPILED, name="uncompiled, measured")
        probe = self.walk.ask_changed(again, "way-uncompiled", {}, self._limit(), self._enough())
        self.walk.announce(again, probe, cut=probe.outcome.kind is OutcomeKind.HANG)
        return None if probe.outcome.failed else probe.notes

    def _way(self, change: Change, probe: Probe, uncompiled: AgentNotes | None) -> WayRound:
        cost = cost_in_words(probe.notes, uncompiled, self.walk.start.notes, compared=self._comparison is not None)
        return WayRound(change.words, change.kind, where=change.where, cost=cost)


def _rung_of(change: Change) -> Rung:
    words = f"with another {change.kind}" if change.kind != "call" else "with a call uncompiled"
    return Rung(words, None, Stage.NONE)


def _own_seconds(found: Findings) -> float:
    """What a run of the script took at most; one that hung tells nothing."""
    outcomes = [probe.outcome for probes in found.walk.seen.values() for probe in probes]
    ended = [outcome.seconds for outcome in outcomes if outcome.kind is not OutcomeKind.HANG]
    return max(ended, default=BEGIN_SECONDS)
