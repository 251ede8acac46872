"""Runs of the script on rungs: side by side where the machine allows, told as they end, kept as what was seen of each rung.

Which rung to run is not decided here (`walk.py`), nor what one run is asked (`runs.py`).
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

from triage.judge.lines import Lines
from triage.judge.signature import FailureSignature
from triage.locate.ahead import IN_INDUCTOR, Ahead, Begun
from triage.locate.conclude import discount, expected_exceptions
from triage.locate.lateness import SILENT_SECONDS, STILL_FACTOR
from triage.locate.later import passed_it
from triage.locate.leftovers import AS_IT_IS, fails_otherwise, looks_alike
from triage.locate.runs import Runs, ended_facts
from triage.locate.told import Told
from triage.model.rungs import AS_IS, LADDER, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Probe
from triage.probe.standby import Standby
from triage.probe.starvation import StandsStill

TRIES_AGAIN = 2  # more runs of a script that compiled nothing in a later one, before chance is ruled out

ALIKE_SECONDS, ALIKE_FACTOR = 60.0, 2.0  # for what another run failed by to show, and times what that one took


@dataclass
class Visits(Runs):
    """Which runs there were, beside which others, and which of them say nothing of their rung."""

    # The script as it is, once more: where it has run before it fails otherwise, or compiles nothing.
    spoiled: Probe | None = None
    spoiled_by: tuple[str, ...] = ()  # runs that we had ended by then: what it meets may be what these left behind
    met: dict[str, Probe] = field(default_factory=dict)  # what rungs met that were run and say nothing for that reason
    idle: dict[str, list[Probe]] = field(default_factory=dict)  # runs that passed and had compiled nothing, by rung
    prints_others: str = ""  # the sentence for it where what is printed is others from a backend above Dynamo on
    others: Told | None = None  # what that is
    once_others: tuple[Told, Lines] | None = None  # what may be, as one compiled run printed it, with all lines of that
    ready: Callable[[], bool] = lambda: True  # whether a core has time for a run that nobody waits for yet
    first_cut: float | None = None  # seconds that the first run had taken when a budget or an interrupt ended it
    _standby: Standby | None = None  # where the script first calls a compiled function, once it has run as it is
    _ahead: dict[str, Ahead] = field(default_factory=dict)  # runs that were begun beside the first one, by rung
    passed_beside: dict[str, Probe] = field(default_factory=dict)  # what of them passed and was asked for by nobody
    _dropped: list[Ahead] = field(default_factory=list)
    # Ends what asks of graphs, where the script fails uncompiled or meets itself.
    moot: Cancel = field(default_factory=Cancel)
    _began_again: bool = False  # the script was run as it is once more, to tell what runs left behind
    _crowded: list[tuple[Rung, Probe]] = field(default_factory=list)  # of those beside: to be asked once more, alone

    def visit(self, rungs: Sequence[Rung], until: Cancel | None = None) -> None:
        """Probe these rungs, side by side (`until` ends them). Stops the others once the script is known to fail uncompiled.

        Runs side by side may be in each other's way: they open the same port, write the same file. So a rung that failed
        in another way than the script did is asked once more, alone, and the first answer is forgotten. What runs beside
        other work (`until`) is alone only in `alone`: until then nothing is known of that rung. The run that was in the way
        is left to end: a lock that it holds would stay if we ended it, and be met by all that come. A rung that hangs where the
        script does not is asked once more, too: that may be chance (threads that wait for each other as a process ends).
        """
        if not rungs or self.spoiled is not None:
            return
        side_by_side = min(self.jobs(), len(rungs))
        stop = Cancel(until or self.session.cancel)
        crowded: list[tuple[Rung, Probe]] = []
        named: list[tuple[Rung, str]] = []
        for rung in rungs:
            ran = len(self.seen.get(rung.name, [])) + len(self.idle.get(rung.name, []))
            number = ran + [other for other, _ in named].count(rung)
            named.append((rung, rung.name if number == 0 else f"{rung.name}-{number + 1}"))
        with self.session.pool(side_by_side) as pool:
            waiting: dict[Future[Probe], Rung] = {}
            while named or waiting:
                while named and len(waiting) < side_by_side:  # what a run tells may spare the next one
                    rung, name = named.pop(0)
                    waiting[pool.submit(self._asked, rung, name, stop)] = rung
                ended, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ended:
                    rung, probe = waiting.pop(future), passed_it(future.result(), self.start, self.stop_after)
                    if probe.cancelled:
                        self.session.emit("probe_cancelled", rung=rung.name, name=probe.name)
                        continue
                    beside = side_by_side > 1 or until is not None
                    in_the_way = self._took(rung, probe, beside=beside, alone_at_once=until is None)
                    crowded += [(rung, probe)] if in_the_way else []
                    enough = self.spoiled is not None or (rung is UNCOMPILED and probe.outcome.failed)
                    if enough:
                        named.clear()
                    if enough and not in_the_way:
                        stop.set()
                        self.moot.set()
        if until is None:
            self._ask_alone(crowded)
        else:
            self._crowded += crowded

    def later_on(self, rung: Rung) -> FailureSignature | None:
        """What the script fails by on a rung on which it comes past its failure (`later.py`); None where it does not."""
        return next((probe.later for probe in self.seen.get(rung.name, []) if probe.later is not None), None)

    def _took(self, rung: Rung, probe: Probe, *, beside: bool, alone_at_once: bool) -> bool:
        """Keep what a run tells of its rung, and announce it; whether it was in another's way, or hangs, and must be asked again.

        `beside`: others ran when it did. `alone_at_once`: it is asked again, alone, as soon as they have ended.
        """
        idle = self.compiled_nothing(rung, probe)
        otherwise = self._fails_otherwise(probe)
        by_chance = otherwise and probe.outcome.kind is OutcomeKind.HANG
        in_the_way = by_chance or (beside and (idle or otherwise))
        says_nothing = not in_the_way and self._says_nothing(rung, probe)
        if not says_nothing and (not in_the_way or (alone_at_once and not idle)):
            self.seen.setdefault(rung.name, []).append(probe)
        self.announce(rung, probe)
        return in_the_way

    def _asked(self, rung: Rung, name: str, cancel: Cancel) -> Probe:
        """Run it, but for what was begun before. That recorded no values: a compiled run that fails is run with them."""
        ahead = self._ahead.pop(name, None)
        probe = ahead.result(cancel) if ahead is not None else None
        if probe is not None and (rung is UNCOMPILED or not probe.outcome.failed):
            return self._judged(probe)
        self._told_early.discard(name)
        begins_at = self._standby if self._should_pass(rung) else None
        if self._hung():
            return self.ask(rung, name, cancel=cancel, begins_at=begins_at)
        return self.ask(rung, name, cancel=cancel, begins_at=begins_at, late=StandsStill(self._long_enough()))

    def _long_enough(self) -> float:
        """Seconds after which a run that does nothing any more waits for what will not come, where the script comes to an end:
        ranks may, as they end, in one run of many. It is asked once more, and then waited for.
        """
        return max(SILENT_SECONDS, STILL_FACTOR * self.start.outcome.seconds)

    @abstractmethod
    def _should_pass(self, rung: Rung) -> bool:
        """Whether nothing speaks for a failure there: then the run may begin in the middle of the program."""

    def _drop_standby(self) -> None:
        """Nobody asks for more runs that begin there. It is not waited for, but by the interpreter at its end."""
        standby, self._standby = self._standby, None
        if standby is not None:
            threading.Thread(target=standby.close, name="standby").start()

    def _begin_ahead(self) -> dict[str, Ahead]:
        """What begins runs beside that of the script as it is; nothing where one process is to run at a time."""
        if self.session.settings.screen or self.jobs() < 2:
            return {}

        def running(rung: Rung) -> Callable[[Cancel, Begun], Probe]:
            def run(cancel: Cancel, begun: Begun) -> Probe:
                probe = self.ask(rung, rung.name, cancel=cancel, begun=begun, stop_later=True, begins_at=self._standby)
                if probe.cancelled:  # nobody asks for it
                    self.session.emit("probe_cancelled", rung=rung.name, name=probe.name)
                elif self.own_rung.name not in self.seen:
                    self._told_early.add(probe.name)
                    self.session.emit("beside_ended", **ended_facts(rung, probe, probe))
                return probe

            return run

        def idle() -> bool:
            if uncompiled.failed is not None:  # the script is to blame, or two runs were in each other's way
                return False
            return self.ready() and (self.jobs() > 2 or uncompiled.ended)

        below, cancel = LADDER[-2], self.session.cancel
        uncompiled = Ahead(running(UNCOMPILED), self.ready, cancel)
        return {UNCOMPILED.name: uncompiled, below.name: Ahead(running(below), idle, cancel, IN_INDUCTOR)}

    def _drop_ahead(self, *keep: str) -> None:
        """End what was begun beside the first run, but on these rungs. It is not waited for (`_ended_ahead`)."""
        for name in set(self._ahead) - set(keep):
            ahead = self._ahead.pop(name)
            if ahead.passed is not None:
                self.passed_beside[name] = ahead.passed
            ahead.drop()
            self._dropped.append(ahead)

    def _ended_ahead(self) -> None:
        """Wait until nothing is left of what was dropped."""
        while self._dropped:
            self._dropped.pop().join()

    def _ask_crowded(self) -> None:
        """Those that ran beside other work and failed otherwise, each alone."""
        crowded, self._crowded = self._crowded, []
        self._ask_alone(crowded)

    def _ask_alone(self, crowded: Sequence[tuple[Rung, Probe]]) -> None:
        if crowded:
            self._ended_ahead()
        for rung, probe in sorted(crowded, key=lambda each: each[0] is not UNCOMPILED):
            if self.compiled_nothing(rung, probe):
                if not self._says_nothing(rung, probe):
                    self.seen.setdefault(rung.name, []).append(probe)
                continue
            if self.spoiled is not None and (self.spoiled.signature is None or looks_alike(self.spoiled, probe)):
                self.met[rung.name] = probe
                continue
            again = passed_it(self.ask(rung, f"{probe.name}-alone"), self.start, self.stop_after)
            if again.cancelled:
                continue
            others = [each for each in self.seen.get(rung.name, []) if each is not probe]
            kept = others if self._says_nothing(rung, again) else [*others, again]
            self.seen[rung.name] = kept
            if not kept:
                del self.seen[rung.name]
            self.announce(rung, again)

    # -- what an earlier run left behind ------------------------------------------------------------------------------

    def _says_nothing(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run says nothing of its rung: it met what an earlier run of the script had left behind, or compiled nothing.

        A program that refuses to write over its own results fails uncompiled, and not as it did; but so it does now as it is.
        """
        if self.compiled_nothing(rung, probe):
            return self._passed_by(rung, probe)
        if not self._fails_otherwise(probe):
            return False
        if self.spoiled is None and rung is UNCOMPILED and not self._began_again:
            self._began_again = True
            again = self.ask(AS_IT_IS, f"{AS_IS}-again", limit=self._until_alike(probe))
            self.announce(AS_IT_IS, again)
            if looks_alike(again, probe):
                self.spoiled, self.spoiled_by = again, tuple(self._ended_by_us)
                for name, probes in list(self.seen.items()):
                    self.seen[name] = [each for each in probes if not looks_alike(each, again)]
                    if not self.seen[name]:
                        del self.seen[name]
                        self.met[name] = probes[0]
        if self.spoiled is None or not looks_alike(self.spoiled, probe):
            return False
        self.met[rung.name] = probe
        return True

    def _fails_otherwise(self, probe: Probe) -> bool:
        """What the program meets and handles uncompiled, too, is no failure: it may be what a check of its own asks for."""
        return fails_otherwise(discount(probe, expected_exceptions(self.seen)), self.start)

    def _until_alike(self, probe: Probe) -> float:
        """The seconds within which the script as it is would fail as this run did: one that hangs is not waited for again."""
        hangs = self.start.outcome.kind is OutcomeKind.HANG
        return max(ALIKE_SECONDS, ALIKE_FACTOR * probe.outcome.seconds) if hangs else float("inf")

    def _passed_by(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run that passed, and compiled nothing, says nothing of its rung: on the highest it is a pass all the same.

        A program that goes on from its checkpoint, or finds its result there, has nothing left to compile; then it has not as it
        is, either. One that takes another way by chance compiles something in some of its runs.
        """
        top = self.own_rung.name
        if self.spoiled is None and self.start.outcome.failed and not self._began_again:
            self._began_again = True
            for number in range(TRIES_AGAIN):
                again = self.ask(AS_IT_IS, f"{AS_IS}-again{f'-{number + 1}' if number else ''}")
                self.announce(AS_IT_IS, again)
                if again.cancelled or not self.compiled_nothing(AS_IT_IS, again):
                    self.seen[top] += [] if again.cancelled or fails_otherwise(again, self.start) else [again]
                    break
            else:
                self.spoiled = again
                self.seen[top] = [each for each in self.seen[top] if not self.compiled_nothing(self.own_rung, each)]
        if self.spoiled is None and rung.name == top:
            return False
        self.idle.setdefault(rung.name, []).append(probe)
        self.met.setdefault(rung.name, probe)
        return True
