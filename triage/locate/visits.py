"""Runs of the script on rungs: side by side where the machine allows, told as they end, kept as what was seen of each rung.

Which rung to run is not decided here (`walk.py`).
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.environments.machine import runs_that_fit, usable_cores
from triage.locate.ahead import IN_INDUCTOR, Ahead, Begun
from triage.locate.conclude import Conclusion, discount, expected_exceptions, face
from triage.locate.leftovers import AS_IT_IS, compiled_nothing, fails_otherwise, looks_alike
from triage.model.accuracy import Comparison
from triage.model.outcome import BoundaryPoint
from triage.model.rungs import AS_IS, LADDER, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind
from triage.model.text import clip
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target
from triage.session.clock import BudgetSpentError
from triage.session.session import Session

# A rung hangs that takes so many times what those below it took, and at least so long.
HANG_FACTOR = 20.0
HANG_SECONDS = 120.0
TRIES_AGAIN = 2  # more runs of a script that compiled nothing in a later one, before chance is ruled out


@dataclass
class Visits(ABC):
    """What was seen, per rung. It is readable at any moment, also after an interrupt."""

    session: Session
    target: Target
    rungs: tuple[Rung, ...] = LADDER
    top: int = len(LADDER) - 1
    seen: dict[str, list[Probe]] = field(default_factory=dict)
    stop_after: BoundaryPoint | None = None
    # The script as it is, once more: where it has run before it fails otherwise, or compiles nothing.
    spoiled: Probe | None = None
    spoiled_by: tuple[str, ...] = ()  # runs that we had ended by then: what it meets may be what these left behind
    met: dict[str, Probe] = field(default_factory=dict)  # what rungs met that were run and say nothing for that reason
    idle: dict[str, list[Probe]] = field(default_factory=dict)  # runs that passed and had compiled nothing, by rung
    comparison: Comparison | None = None  # what the agents are asked to compare from here on
    printed: Callable[[Probe], Probe] | None = None  # where what is printed is wrong: fails runs that print it, too
    prints_others: str = ""  # the sentence for it where what is printed is others from a backend above Dynamo on
    probe: Callable[..., Probe] = run_probe
    ready: Callable[[], bool] = lambda: True  # whether a core has time for a run that nobody waits for yet
    first_cut: float | None = None  # seconds that the first run had taken when a budget or an interrupt ended it
    _ahead: dict[str, Ahead] = field(default_factory=dict)  # runs that were begun beside the first one, by rung
    _told_early: set[str] = field(default_factory=set)  # names of those that ended while the first one went on
    passed_beside: dict[str, Probe] = field(default_factory=dict)  # what of them passed and was asked for by nobody
    _dropped: list[Ahead] = field(default_factory=list)
    # Ends what asks of graphs, where the script fails uncompiled or meets itself.
    moot: Cancel = field(default_factory=Cancel)
    _began_again: bool = False  # the script was run as it is once more, to tell what runs left behind
    _ended_by_us: list[str] = field(default_factory=list)  # names of runs that did not come to an end of their own
    _crowded: list[tuple[Rung, Probe]] = field(default_factory=list)  # of those beside: to be asked once more, alone

    @abstractmethod
    def conclusion(self) -> Conclusion:
        """What is known now."""

    @property
    def as_it_is(self) -> list[Probe]:
        """The runs of the script as it is that count."""
        return self.seen.get(self.rungs[self.top].name, [])

    @property
    def start(self) -> Probe:
        """The first run of the script as it is, or the one that compared, if that found the failure."""
        return self.as_it_is[0]

    def _patience(self) -> float:
        """The limit in seconds of one probe. A script that hangs has told nothing by its time, the rungs that pass have."""
        every = [probe.outcome for probes in list(self.seen.values()) for probe in list(probes)]  # others add to it
        passed = [outcome.seconds for outcome in every if outcome.kind is OutcomeKind.OK]
        if passed and self.start.outcome.kind is OutcomeKind.HANG:
            return max(HANG_SECONDS, HANG_FACTOR * max(passed))
        return float("inf")

    def _hung(self) -> bool:
        """Whether the script did not end. Then the other runs print no graphs: that may be what takes so long, where the sizes
        in them are long expressions, and so a backend would hang that does not without our logs.
        """
        return bool(self.as_it_is) and self.start.outcome.kind is OutcomeKind.HANG

    def values_matter(self) -> bool:
        """Whether the failure may depend on the values the script had: it did not come while compiling."""
        failed = next((probe for probe in self.as_it_is if probe.outcome.failed), None)
        exception = failed.outcome.exception if failed is not None else None
        return failed is not None and (exception is None or exception.phase != "compile")

    def jobs(self) -> int:
        """Probes side by side: as asked for, else one per three gigabytes and core, at most four.

        A program with ranks meets at an address, which two runs of it would have to share: one at a time.
        """
        if any(probe.notes.distributed for probes in list(self.seen.values()) for probe in list(probes)):
            return 1
        if self.session.settings.jobs:
            return self.session.settings.jobs
        return max(1, min(usable_cores(), runs_that_fit(), 4))

    @contextlib.contextmanager
    def pool(self, size: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for probes side by side. Whatever interrupts the wait for them ends them all."""
        pool = ThreadPoolExecutor(max_workers=size)
        try:
            yield pool
        except BaseException:
            self.session.cancel.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def visit(self, rungs: Sequence[Rung], until: Cancel | None = None) -> None:
        """Probe these rungs, side by side (`until` ends them). Stops the others once the script is known to fail uncompiled.

        Runs side by side may be in each other's way: they open the same port, write the same file. So a rung that failed
        in another way than the script did is asked once more, alone, and the first answer is forgotten. What runs beside
        other work (`until`) is alone only in `alone`: until then nothing is known of that rung. The run that was in the way
        is left to end: a lock that it holds would stay if we ended it, and be met by all that come.
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
        with self.pool(side_by_side) as pool:
            waiting: dict[Future[Probe], Rung] = {}
            while named or waiting:
                while named and len(waiting) < side_by_side:  # what a run tells may spare the next one
                    rung, name = named.pop(0)
                    waiting[pool.submit(self._asked, rung, name, stop)] = rung
                ended, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ended:
                    rung = waiting.pop(future)
                    probe = future.result()
                    if probe.cancelled:
                        self.session.emit("probe_cancelled", rung=rung.name, name=probe.name)
                        continue
                    idle = self.compiled_nothing(rung, probe)
                    beside = side_by_side > 1 or until is not None
                    in_the_way = beside and (idle or fails_otherwise(probe, self.start))
                    crowded += [(rung, probe)] if in_the_way else []
                    told_nothing = not in_the_way and self._says_nothing(rung, probe)
                    if not told_nothing and (not in_the_way or (until is None and not idle)):
                        self.seen.setdefault(rung.name, []).append(probe)
                    self.announce(rung, probe)
                    if self.spoiled is not None or (rung is UNCOMPILED and probe.outcome.failed):
                        if not in_the_way:
                            stop.set()
                            self.moot.set()
                        named.clear()
        if until is None:
            self._ask_alone(crowded)
        else:
            self._crowded += crowded

    def _asked(self, rung: Rung, name: str, cancel: Cancel) -> Probe:
        """Run it, but for what was begun before. That recorded no values: a compiled run that fails is run with them."""
        ahead = self._ahead.pop(name, None)
        probe = ahead.result(cancel) if ahead is not None else None
        if probe is not None and (rung is UNCOMPILED or not probe.outcome.failed):
            return self._judged(probe)
        self._told_early.discard(name)
        return self.ask(rung, name, cancel=cancel)

    def _begin_ahead(self) -> dict[str, Ahead]:
        """What begins runs beside that of the script as it is; nothing where one process is to run at a time."""
        if self.session.settings.screen or self.jobs() < 2:
            return {}

        def running(rung: Rung) -> Callable[[Cancel, Begun], Probe]:
            def run(cancel: Cancel, begun: Begun) -> Probe:
                probe = self.ask(rung, rung.name, cancel=cancel, begun=begun, stop_later=True)
                if probe.cancelled:  # nobody asks for it
                    self.session.emit("probe_cancelled", rung=rung.name, name=probe.name)
                elif self.rungs[self.top].name not in self.seen:
                    self._told_early.add(probe.name)
                    self.session.emit("beside_ended", **_facts(rung, probe, probe))
                return probe

            return run

        def idle() -> bool:
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
            again = self.ask(rung, f"{probe.name}-alone")
            if again.cancelled:
                continue
            others = [each for each in self.seen.get(rung.name, []) if each is not probe]
            kept = others if self._says_nothing(rung, again) else [*others, again]
            self.seen[rung.name] = kept
            if not kept:
                del self.seen[rung.name]
            self.announce(rung, again)

    def ask(
        self, rung: Rung, name: str, *, cancel: Cancel | None = None, limit: float = float("inf"), **asked: Any
    ) -> Probe:
        """Run the script once on a rung, for `limit` seconds at most. Raises BudgetSpentError where the budget ended it.

        `asked` is what is asked of this run besides, or otherwise than of others: fields of its `ProbeRequest`.
        """
        # The failing rung's graphs may be needed where the first run did not get that far.
        asked |= {"capture": rung.force != UNCOMPILED.force, "record_values": self.values_matter()}
        asked.setdefault("values_of_call", self._died_in())
        asked.setdefault("accuracy", None if "opcheck" in asked else self.comparison)
        return self._ask(rung, name, limit, cancel, few_logs=self._hung(), **asked)

    def ask_changed(
        self,
        rung: Rung,
        name: str,
        overlay: Mapping[Path, bytes],
        limit: float,
        enough: float,
        comparison: Comparison | None = None,
    ) -> Probe:
        """Run the script on a rung with another text in the place of some of its files, for `limit` seconds at most.

        It is run to its end, or for `enough` seconds where it goes on past the point of the failure, and it is measured.
        """
        enough = min(enough, self._limit(limit) / 2)
        asked = {"accuracy": comparison, "overlay": overlay, "stop_seconds": enough, "timed": True}
        return self._ask(rung, name, limit, None, few_logs=True, **asked)  # nobody asks how it passes

    def _died_in(self) -> tuple[str, int] | None:
        """The graph in which the script as it is died, and the call, where that was not its first."""
        died = [probe.notes.died_in for probe in self.as_it_is]
        return next((place for place in died if place is not None and place[1] > 1), None)

    def _limit(self, limit: float) -> float:
        return min(self._patience(), self.session.settings.timeout, limit)

    def _ask(
        self, rung: Rung, name: str, limit: float, cancel: Cancel | None, *, few_logs: bool, **asked: Any
    ) -> Probe:
        """`few_logs`: no graphs are printed."""
        patience = self._limit(limit)
        logs = {"TORCH_LOGS": os.environ.get("TORCH_LOGS") or "recompiles"} if few_logs else {}
        request = ProbeRequest(
            name=name,
            target=self.target,
            rung=rung.force,
            timeout=min(self.session.probe_timeout(), patience),
            directory=self.session.directory,
            stop_after=self.stop_after,
            neutral=self.session.neutral,
            kernels=self.session.kernels,
            extra_env={**logs, **asked.pop("extra_env", {})},
            verbose_logs=not few_logs,
            **asked,
        )
        self.session.emit("probe_started", rung=rung.name, name=request.name, timeout=request.timeout)
        probe = self.probe(request, cancel or self.session.cancel)
        outcome = probe.outcome
        if outcome.kind is OutcomeKind.HANG and not outcome.late and request.timeout < patience > outcome.seconds:
            raise BudgetSpentError  # it was the budget that ended it, not the limit of a probe (nor that of a resumed run's)
        if probe.cancelled or probe.notes.stopped_early or probe.outcome.kind is OutcomeKind.HANG:
            self._ended_by_us.append(request.name)
        if not probe.cancelled and not self.session.cancel.is_set():
            self.session.emit("probe_facts", probe=probe)
        return self._judged(probe)

    def _judged(self, probe: Probe) -> Probe:
        return self.printed(probe) if self.printed is not None else probe

    def announce(self, rung: Rung, probe: Probe, *, cut: bool = False) -> None:
        """Tell the listeners how a probe ended; `cut`: at a limit that says nothing of the script."""
        judged, idle = discount(probe, expected_exceptions(self.seen)), self.compiled_nothing(rung, probe)
        self.session.emit(
            "probe_ended",
            **_facts(rung, probe, judged),
            told_early=probe.name in self._told_early and judged.outcome.kind is probe.outcome.kind and not idle,
            idle=idle,
            face=face(judged, self.conclusion().signature),
            stopped_early=probe.notes.stopped_early,
            on=probe.on,
            cut=cut,
        )

    # -- what an earlier run left behind ------------------------------------------------------------------------------

    def compiled_nothing(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run passed and had compiled nothing, on a rung that compiles, where the script had compiled and failed."""
        return compiled_nothing(rung, probe, self.as_it_is)

    def _says_nothing(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run says nothing of its rung: it met what an earlier run of the script had left behind, or compiled nothing.

        A program that refuses to write over its own results fails uncompiled, and not as it did; but so it does now as it is.
        """
        if self.compiled_nothing(rung, probe):
            return self._passed_by(rung, probe)
        if not fails_otherwise(probe, self.start):
            return False
        if self.spoiled is None and rung is UNCOMPILED and not self._began_again:
            self._began_again = True
            again = self.ask(AS_IT_IS, f"{AS_IS}-again")
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

    def _passed_by(self, rung: Rung, probe: Probe) -> bool:
        """Whether a run that passed, and compiled nothing, says nothing of its rung: on the highest it is a pass all the same.

        A program that goes on from its checkpoint, or finds its result there, has nothing left to compile; then it has not as it
        is, either. One that takes another way by chance compiles something in some of its runs.
        """
        top = self.rungs[self.top].name
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
                self.seen[top] = [
                    each for each in self.seen[top] if not self.compiled_nothing(self.rungs[self.top], each)
                ]
        if self.spoiled is None and rung.name == top:
            return False
        self.idle.setdefault(rung.name, []).append(probe)
        self.met.setdefault(rung.name, probe)
        return True


def _facts(rung: Rung, probe: Probe, judged: Probe) -> dict[str, object]:
    """How a probe ended, as listeners are told."""
    return {
        "rung": rung.name,
        "name": probe.name,
        "outcome": judged.outcome.kind,
        "signal": probe.outcome.signal,
        "seconds": round(probe.outcome.seconds, 2),
        "message": clip(judged.signature.message, 200) if judged.signature else "",
        "exception": judged.signature.exception_type if judged.signature else None,
    }
