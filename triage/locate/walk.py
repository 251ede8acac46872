"""The walk along the ladder: which rung to run next until the stage is settled.

The first probe is the script as it is. From the boundary that its failure suggests the walk goes outwards; when the script
is quick, every rung is visited, because a whole table tells a maintainer more (but none above Dynamo, where that fails alone). A
failure must come back before a stage is blamed for it; one that does not is repeated until its rate is known.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from triage.locate.ahead import may_be_in_the_way, told_of
from triage.locate.answers import Answers
from triage.locate.conclude import Conclusion
from triage.locate.graphs_compared import only_unsteady
from triage.locate.ladder import ladder_for
from triage.locate.lateness import Lateness
from triage.locate.leftovers import AS_IT_IS, looks_alike
from triage.locate.outcomes import is_script_check
from triage.locate.seeds import telling_seed, try_seeds
from triage.model.rungs import AS_IS, UNCOMPILED, Rung, in_place_of
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe
from triage.probe.standby import Standby

QUICK_SECONDS = 45.0
REPEATS = 5
LEAST_SECONDS, FACTOR = 60.0, 3.0  # what a run may take that goes on where the script fails, of what it took to fail
TRIES = 2  # more runs of a script that passed


class Walk(Answers):
    """The ladder of one script, from its first run until the stage is settled."""

    def first(self) -> Probe:
        """Run the script as it is; fixes which rungs there are."""
        probe = self._as_it_is()
        self.begins_with(probe)
        if self._ahead and probe.signature is not None:
            self._drop_ahead(UNCOMPILED.name, self.rungs[self.suspected() - 1].name)
        for ahead in self._ahead.values():
            ahead.first_ended(self.stop_after)
        return probe

    def begins_with(self, probe: Probe) -> None:
        """Take this for the first run of the script as it is; from here on it is known behind which point a run says no more."""
        self.rungs, self.top = ladder_for(probe.notes.compile_calls)
        self.seen.setdefault(self.own_rung.name, []).append(probe)
        self.session.emit("ladder", rungs=[rung.name for rung in self.rungs], top=self.own_rung.name)
        self.announce(self.own_rung, probe)
        exception = probe.outcome.exception
        if exception is not None and exception.in_compiled_code and not exception.swallowed:
            self.stop_after = probe.notes.point

    def _as_it_is(self) -> Probe:
        """The script as it is, and beside it runs that are needed where it fails; alone, if these may have made it fail."""
        self._standby = None if self.session.settings.screen else Standby()
        self._ahead = self._begin_ahead()

        def begun(channel: Path) -> None:
            for ahead in self._ahead.values():
                ahead.watch(channel)

        began = time.monotonic()
        try:
            late = Lateness(self.session.settings.timeout, self._uncompiled_seconds, suspected=self._suspected)
            probe = self.ask(AS_IT_IS, AS_IS, begun=begun, late=late, makes=self._standby)
        except BaseException:
            self.first_cut = time.monotonic() - began
            self._keep_passed()
            self._drop_ahead()
            self._ended_ahead()
            raise
        beside = any(ahead.begun for ahead in self._ahead.values())
        if probe.notes.distributed:
            self._drop_ahead()
        elif not probe.outcome.failed:  # a wrong result may be found yet, and needs the uncompiled run
            self._drop_ahead(*(name for name, ahead in self._ahead.items() if name == UNCOMPILED.name and ahead.ended))
        elif probe.outcome.kind is OutcomeKind.HANG:  # how long the others are waited for is told by what passes
            self._drop_ahead(UNCOMPILED.name, *(name for name, ahead in self._ahead.items() if ahead.ended))
        elif beside and may_be_in_the_way(probe.outcome):
            self._drop_ahead()
            self._ended_ahead()
            self._drop_standby()
            self.session.emit("engine_step", text=told_of(probe))
            return self.ask(AS_IT_IS, AS_IS)
        return probe

    def compiles(self) -> bool:
        """Whether the first run has come to its first compile, as far as another has begun beside it then, or has ended."""
        return bool(self.seen) or any(ahead.begun for ahead in list(self._ahead.values()))

    def _suspected(self) -> None:
        """The first run is likely to hang: what comes next can be made ready on a core that has nothing to do."""
        if self.jobs() > 1:
            self.make_ready()

    def _uncompiled_seconds(self) -> float | None:
        """What the uncompiled run took that was begun beside the first one; None until it has passed."""
        ahead = self._ahead.get(UNCOMPILED.name)
        probe = ahead.passed if ahead is not None else None
        return None if probe is None else probe.outcome.seconds

    def _keep_passed(self) -> None:
        """What has passed beside a first run that did not come to its end is known all the same."""
        for name, probe in [(name, ahead.passed) for name, ahead in self._ahead.items()]:
            if probe is not None:
                self.rungs, self.top = ladder_for(probe.notes.compile_calls)
                self.seen[name] = [probe]

    def failed_beside(self) -> bool:
        """Whether the uncompiled run begun beside the first one has ended, and failed: it is to be looked at before any graph.

        One that failed otherwise may have done so by the one beside it, and is forgotten here: it is asked again, alone.
        """
        ahead = self._ahead.get(UNCOMPILED.name)
        failed = ahead.failed if ahead is not None else None
        if failed is None or looks_alike(failed, self.start):
            return failed is not None
        if may_be_in_the_way(failed.outcome):
            return False
        del self._ahead[UNCOMPILED.name]
        return True

    def settle(self) -> Conclusion:
        """Visit rungs until the stage is known, the failure has come back, and the table is as full as time allows."""
        top = self.own_rung
        first = self.start
        again = self.compared is not None and is_script_check(self.compared.outcome)  # its own check fails now
        quick = first.outcome.seconds <= QUICK_SECONDS
        if not first.outcome.failed and first.notes.compile_calls and (quick or again):
            # Whoever asks has seen it fail: it may be a failure that does not come every time.
            self.visit([top] * TRIES)
            first = next((probe for probe in self.seen[top.name] if probe.outcome.failed), first)
            self._check_order()
        if first.outcome.failed:
            self._settle(first)
            self._check_door()
        return self.conclusion()

    def _check_order(self) -> None:
        """Where the first run passes and each later one fails, the first may have left behind what fails them: uncompiled, too.

        What ran uncompiled beside the first run says nothing of that.
        """
        later = self.seen[self.own_rung.name][1:]
        if not later or not all(probe.outcome.failed for probe in later):
            return
        beside = UNCOMPILED.name in self._ahead or UNCOMPILED.name in self.seen
        if self._unseen(UNCOMPILED):
            self.visit([UNCOMPILED])
        if beside and not self.conclusion().fails_uncompiled:
            self.visit([UNCOMPILED])

    def _settle(self, first: Probe) -> None:
        if self.conclusion().fails_uncompiled:  # seen beside the questions to its graph
            return
        guess = self.suspected(first)
        blamed = self.rungs[guess]
        if first.outcome.kind is OutcomeKind.HANG or not first.notes.compile_calls:
            # From it the others learn how long to wait; where nothing calls the compiler it is all there is to ask.
            self.visit([UNCOMPILED])
            if self.conclusion().fails_uncompiled:
                return
        if blamed.stage is not Stage.DYNAMO or not self._traced_alike(first, blamed):
            self.visit(self._likely(first, guess))
        if not self.conclusion().settled:
            self._search()
        if not self.conclusion().fails_uncompiled:
            self._confirm(first)
            self._check_branch()
            self._check_randomness()

    # -- which rung next ------------------------------------------------------------------------------------------

    def _traced_alike(self, first: Probe, dynamo: Rung) -> bool:
        """Whether Dynamo alone fails in the same way: the rungs above trace as it does, and below it there is none to doubt."""
        self.visit([rung for rung in (UNCOMPILED, dynamo) if self._unseen(rung)])
        if self.conclusion().fails_uncompiled:
            return True
        if self._unseen(dynamo):  # it was ended for a failure of the uncompiled run that was none after all
            return False
        probe = self.seen[dynamo.name][-1]
        return self._passes(UNCOMPILED) and looks_alike(probe, first)

    def _likely(self, first: Probe, guess: int) -> list[Rung]:
        """The rungs on both sides of the boundary that is guessed. Of a quick script all of them, the likely culprit twice.

        But for a backend of the program's own: where the one below it passes, those further below have nothing to add.
        """
        blamed = self.rungs[guess]
        visits = [rung for rung in dict.fromkeys((UNCOMPILED, self.rungs[guess - 1], blamed)) if self._unseen(rung)]
        if first.outcome.seconds <= QUICK_SECONDS:
            # In one go: no core waits for the answer of another.
            visits += [blamed] * (2 - len(self.evidence.get(blamed.name, [])) - visits.count(blamed))
            others = self.rungs if blamed.stage is not Stage.BACKEND else ()
            visits += [rung for rung in others if rung not in visits and self._unseen(rung)]
        return visits

    def _search(self) -> None:
        """Close the gap between the highest passing and the lowest failing rung."""
        for _ in range(len(self.rungs)):
            found = self.conclusion()
            if found.settled or found.failing is None:
                return
            high = self.rungs.index(found.failing)
            passed = [i for i in range(high) if self._passes(self.rungs[i])]
            low = max(passed, default=-1)
            unseen = [i for i in range(low + 1, high) if self.rungs[i].name not in self.seen]
            if not unseen:
                return
            self.visit(
                [self.rungs[i] for i in dict.fromkeys((high - 1, (low + high) // 2)) if i in unseen][: self.jobs()]
            )

    def _passes(self, rung: Rung) -> bool:
        probes = self.seen.get(rung.name, [])
        return bool(probes) and not any(probe.outcome.failed for probe in probes)

    def _confirm(self, first: Probe) -> None:
        """The failure must come back. One that does not is repeated, and so are the rungs below it."""
        found = self.conclusion()
        if found.failing is None or found.fails_uncompiled:
            return
        if found.runs < 2 and found.outcome is not None and found.outcome.kind is not OutcomeKind.HANG:
            self.visit([found.failing])
        found = self.conclusion()
        if found.symptom is not Symptom.NONDETERMINISTIC:
            return
        assert found.failing is not None
        if found.passing is UNCOMPILED and self.checked_first is not None and only_unsteady(self.checked_first):
            # Eager was seen to vary by itself: the script may fail without a compiler, and then no more is to be asked.
            self.visit([UNCOMPILED] * (REPEATS - len(self.seen[UNCOMPILED.name])))
            if self.conclusion().fails_uncompiled:
                return
        self.visit([found.failing] * (REPEATS - len(self.seen[found.failing.name])))
        if found.passing is not None:
            self.visit([found.passing] * (REPEATS - len(self.seen[found.passing.name])))
        if first.outcome.seconds <= QUICK_SECONDS:
            try_seeds(self, found.failing, self.seeded)
            self._try_seed_uncompiled(first)

    def ask_with_seed(self, rung: Rung, name: str, failed: Probe, **changed: Any) -> Probe:
        """Ask what of the script itself decides, with this changed (arguments of `ask`), and tell how it ended. All such runs
        have one seed, which brings the failure, so that chance does not decide.
        """
        limit = max(LEAST_SECONDS, FACTOR * failed.outcome.seconds)
        probe = self.ask(rung, name, seed=telling_seed(self.seeded) or 0, limit=limit, **changed)
        self.announce(rung, probe)
        return probe

    def _try_seed_uncompiled(self, first: Probe) -> None:
        """Where a seed decides that it fails, it may fail uncompiled with that as well: that it passed there was chance, too."""
        seed = telling_seed(self.seeded)
        if seed is None or self.conclusion().fails_uncompiled:
            return
        probe = self.ask(UNCOMPILED, f"{UNCOMPILED.name}-seed-{seed}", seed=seed)
        self.announce(UNCOMPILED, probe)
        if looks_alike(probe, first):
            self.seen.setdefault(UNCOMPILED.name, []).append(probe)

    def _check_branch(self) -> None:
        """Where Dynamo alone fails, the program's own code for compiled runs may be what does (`agent/hooks/is_compiling.py`)."""
        asks = any(probe.notes.asked_if_compiled for probe in self.seen.get(UNCOMPILED.name, ()))
        if asks and self.conclusion().stage is Stage.DYNAMO:
            self.as_compiled = self.ask(UNCOMPILED, "uncompiled-as-compiled", as_compiled=True)

    def _check_randomness(self) -> None:
        """A failed check of the script's own may only say that other numbers were drawn (`agent/compare/randomness.py`)."""
        found = self.conclusion()
        if (
            found.stage is Stage.SCRIPT
            or found.outcome is None
            or not is_script_check(found.outcome)
            or self.spoiled is not None
        ):
            return
        if self.checked_first is not None and only_unsteady(self.checked_first):
            return  # whatever it draws, such a check may fail
        self.other_stream = self.ask(UNCOMPILED, "uncompiled-other-random", other_stream="all")

    def _check_door(self) -> None:
        """What fails in another door of the compiler must pass where the door only calls what it was given."""
        door = self.conclusion().door
        if door is not None:
            name = in_place_of(door.name)
            rung = Rung(name, name, Stage.NONE)
            self.in_place = self.ask(rung, "in-place")
            self.announce(rung, self.in_place)
