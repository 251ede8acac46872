"""The hunt: test points until the edge is known, prepare the next ones meanwhile, repeat what the edge rests on.

All state is in `results` and can be read at any moment: after an interrupt, a spent budget or an error, what was learned is
still an answer. Positions count from the bad end (see `search`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, field, replace

from triage.bisect.ahead import Ahead
from triage.bisect.missing import lacking_everywhere
from triage.bisect.points import Axis, Bench, Point, Ready
from triage.bisect.search import Answers, edge, may_follow, most_left, next_position
from triage.bisect.trial import CACHES_OFF, FIRST_PASSES, MOST_RUNS, Sought, Trial, Tried, summary_of, taken_up
from triage.environments.venvs import UntestableError
from triage.model.bisection import Standing, TestedVersion
from triage.session.session import Session


@dataclass(frozen=True)
class Manner:
    """`linear` tests every point; `repeats` are the runs of both sides of an edge; `jobs` environments are made ahead.

    `look_at_caches` adds a run without compile caches at the end.
    """

    linear: bool = False
    repeats: int = 3
    jobs: int = 1
    look_at_caches: bool = True


@dataclass
class Hunt:
    """One bisection under way. `wanted` and `results` may come from an earlier one that was interrupted."""

    axis: Axis
    bench: Bench
    trial: Trial
    session: Session
    manner: Manner = field(default_factory=Manner)
    sought: Sought = field(default_factory=Sought)
    results: dict[int, TestedVersion] = field(default_factory=dict)
    learned: Callable[[], None] = lambda: None  # called after each verdict: the state is worth writing down
    dead_end: str | None = None  # why going on would be in vain
    notes: list[str] = field(default_factory=list)
    _tried: dict[int, Tried] = field(default_factory=dict)
    _confirmed: set[int] = field(default_factory=set)

    @property
    def points(self) -> tuple[Point, ...]:
        return self.axis.from_bad_end()

    @property
    def size(self) -> int:
        return len(self.axis.points)

    def answers(self) -> Answers:
        return {place: tested.verdict for place, tested in dict(self.results).items()}

    def run(self) -> None:
        """Hunt to the end. Raises TargetError, BudgetSpentError, KeyboardInterrupt; the results stay."""
        with Ahead(self.bench, self.manner.jobs) as ahead:
            while self.dead_end is None and (place := self._next()) is not None:
                self.session.probe_timeout()  # a budget that is spent ends it here, before anything is installed
                independent = place not in self.results and next_position(self.size, self.answers()) is None
                if independent and self.manner.jobs > 1:
                    self._test_side_by_side(ahead)
                    continue
                self._prepare(ahead, place)
                if place in self.results:
                    self._confirm(place, ahead)
                else:
                    self._test(place, ahead)
                self.learned()
            self._look_at_caches(ahead)

    # -- what next --------------------------------------------------------------------------------------------------

    def _next(self) -> int | None:
        """A point to test, or one to repeat because the edge rests on it; None where nothing is left to do."""
        answers = self.answers()
        if lacking_everywhere(self.results.values(), self.axis.unit) is not None:
            return None
        place = next_position(self.size, answers)
        if place is not None:
            return place
        found = edge(answers)
        for side in (found.good, found.bad) if found is not None and self.manner.repeats > 1 else ():
            if side not in self._confirmed and self.results[side].runs < self._runs_at_the_edge():
                return side
        if self.manner.linear:
            return next((place for place in range(self.size) if place not in answers), None)
        return None

    def _runs_at_the_edge(self) -> int:
        return max(self.manner.repeats, self.sought.passes_needed())

    def _prepare(self, ahead: Ahead, place: int) -> None:
        """Have the environments made that will be needed next."""
        following = may_follow(self.size, self.answers(), place)
        if self.manner.linear:
            untested = [other for other in range(self.size) if other not in self.results and other != place]
            following = [*following, *((other, True) for other in untested)]
        sure = [other for other, certain in following if certain][:1]
        unsure = [other for other, certain in following if not certain][: self.manner.jobs - 1]
        ahead.want([self.points[place], *(self.points[other] for other in (*sure, *unsure))])

    # -- doing it ---------------------------------------------------------------------------------------------------

    def _test(self, place: int, ahead: Ahead) -> None:
        point = self.points[place]
        began = time.monotonic()
        self.session.emit("version_started", version=point.name, left=most_left(self.size, self.answers()))
        try:
            ready = ahead.take(point)
        except UntestableError as reason:
            self._record(place, TestedVersion(point.name, Standing.SKIP, str(reason)), began)
            return
        try:
            if {Standing.BAD, Standing.GOOD} & set(self.answers().values()) and self.sought.face is not None:
                tried = self.trial.run(ready, self.sought, self.sought.passes_needed())
            else:
                tried = self._establish(ready)
        finally:
            ahead.done(ready)
        self._tried[place] = tried
        self._record(place, summary_of(ready, tried), began)

    def _establish(self, ready: Ready) -> Tried:
        """Meet the failure. It must come back; one that does not always is repeated until its rate is known."""
        tried = Tried()
        for _ in range(FIRST_PASSES if not self.results else 1):
            tried = self.trial.run(ready, self.sought, 1, tried)
            if tried.standing is not Standing.GOOD or tried.failures():
                break
        if not tried.failures():
            other = next((judged for judged in tried.runs if judged.face is not None), None)
            if self.sought.face is not None and other is not None and tried.standing is Standing.SKIP:
                self.dead_end = f"In a fresh environment it fails otherwise than in the run ({self.sought.face.line()})"
            return tried
        face = next(judged.face for judged in tried.runs if judged.face is not None and judged.standing is Standing.BAD)
        self.sought = Sought(face)
        if len(tried.runs) == 1:
            tried = self.trial.run(ready, self.sought, 1, tried)
        if tried.failures() < len(tried.runs):
            tried = self.trial.run(ready, self.sought, MOST_RUNS // 2 - len(tried.runs), tried)
            counted = sum(judged.standing is not Standing.SKIP for judged in tried.runs)
            if tried.failures() < counted:
                self.sought = replace(self.sought, rate=tried.failures() / counted)
                tried = replace(tried, standing=Standing.BAD)
        return tried

    def _confirm(self, place: int, ahead: Ahead) -> None:
        """Run one side of the edge again: the answer rests on it."""
        point = self.points[place]
        began = time.monotonic()
        self._confirmed.add(place)
        self.session.emit("version_started", version=point.name, again=True, left=0)
        try:
            ready = ahead.take(point)
        except UntestableError:
            return  # it was tested before: what was learned then stands
        try:
            before = self._tried.get(place) or taken_up(self.results[place])
            more = self._runs_at_the_edge() - self.results[place].runs
            tried = self.trial.run(ready, self.sought, max(more, 1), before)
        finally:
            ahead.done(ready)
        self._tried[place] = tried
        self._record(place, summary_of(ready, tried), began)

    def _test_side_by_side(self, ahead: Ahead) -> None:
        """The points that only `linear` asks for: no answer depends on another."""
        places = [place for place in range(self.size) if place not in self.results]
        with self.session.pool(self.manner.jobs) as pool:
            try:
                waiting = [pool.submit(self._test, place, ahead) for place in places]
                while waiting:
                    ended = wait(waiting, timeout=0.5).done
                    waiting = [future for future in waiting if future not in ended]
                    for future in ended:
                        future.result()
                        self.learned()
            except BaseException:
                self.bench.stop()
                raise

    def _look_at_caches(self, ahead: Ahead) -> None:
        """One more run of the failing side of the edge, with compile caches off: a failure may be theirs."""
        found = edge(self.answers())
        if found is None or self.sought.rate < 1.0 or not self.manner.look_at_caches:
            return
        point = self.points[found.bad]
        if not self.bench.quick(point):
            return
        ready = ahead.take(point)
        try:
            judged, _ = self.trial.once(ready, self.sought, f"{point.name}-caches-off", CACHES_OFF)
        finally:
            ahead.done(ready)
        if judged.standing is Standing.GOOD:
            self.notes.append(
                f"With compile caches switched off the failure is gone in {point.name}: look at the caching first."
            )

    def _record(self, place: int, tested: TestedVersion, began: float) -> None:
        earlier = self.results.get(place)
        seconds = time.monotonic() - began + (earlier.seconds if earlier else 0.0)
        self.results[place] = replace(tested, seconds=round(seconds, 1))
        self.session.emit(
            "version_ended",
            version=tested.version,
            verdict=tested.verdict,
            error=tested.error,
            seconds=round(seconds, 1),
            left=most_left(self.size, self.answers()),
            installs=self.bench.installs,
        )
