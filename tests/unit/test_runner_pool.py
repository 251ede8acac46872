"""Several candidates at once: bounded, in the order they finish, and ended when nobody listens any more."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from triage.judge.judgement import CandidateResult
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.trial.limits import LEAST_MEMORY_MB, default_jobs, default_memory_mb, usable_cores
from triage.trial.pool import TOO_LATE, PooledRunner, Query, SharedOrAlone


class Sleeper(PooledRunner):
    """The source is how long a candidate takes, in seconds."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self.running = self.most = self.ended_early = 0
        self.guard = threading.Lock()

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        with self.guard:
            self.running += 1
            self.most = max(self.most, self.running)
        began = time.monotonic()
        limit = began + min(query.timeout, float(query.source))
        while time.monotonic() < limit and not cancel.is_set():
            time.sleep(0.002)
        kind = OutcomeKind.HANG if query.timeout < float(query.source) else OutcomeKind.OK
        with self.guard:
            self.running -= 1
            self.ended_early += cancel.is_set()
        return CandidateResult(Outcome(kind, detail=query.source), AgentNotes(), None, compiled=True)


def test_results_come_as_they_finish_with_their_index() -> None:
    runner = Sleeper(jobs=3)
    found = list(runner.run_many(["0.3", "0.01", "0.12"]))
    runner.close()
    assert [index for index, _ in found] == [1, 2, 0]
    assert [result.outcome.detail for _, result in found] == ["0.01", "0.12", "0.3"]


def test_no_more_than_jobs_run_at_once() -> None:
    runner = Sleeper(jobs=2)
    assert len(list(runner.run_many(["0.02"] * 7))) == 7
    runner.close()
    assert runner.most == 2


def test_closing_the_iterator_ends_the_rest() -> None:
    runner = Sleeper(jobs=2)
    stream = runner.run_many(["0.01", "60", "60", "60"])
    assert next(stream)[0] == 0
    stream.close()
    assert runner.running == 0
    assert 1 <= runner.ended_early <= 2
    runner.close()


def test_two_iterators_at_once_do_not_mix() -> None:
    runner = Sleeper(jobs=2)
    left, right = runner.run_many(["0.01", "0.03"]), runner.run_many(["0.02"])
    assert next(left)[1].outcome.detail == "0.01"
    assert [result.outcome.detail for _, result in right] == ["0.02"]
    assert [result.outcome.detail for _, result in left] == ["0.03"]
    runner.close()


def test_limits_are_never_useless() -> None:
    assert 1 <= default_jobs() <= usable_cores()
    assert default_memory_mb(1000) == LEAST_MEMORY_MB


def test_nothing_runs_past_the_end_and_what_it_cuts_short_is_no_hang() -> None:
    runner = Sleeper(jobs=1)
    runner.until(time.monotonic() + 0.1)
    view = CutOffView(runner)
    short, long, late = (view.run(seconds).outcome for seconds in ("0.01", "60", "0.01"))
    runner.close()
    assert (short.kind, short.detail) == (OutcomeKind.OK, "0.01")
    assert (long.kind, long.detail) == (OutcomeKind.INVALID, TOO_LATE)
    assert (late.kind, late.detail) == (OutcomeKind.INVALID, TOO_LATE)


class CutOffView(PooledRunner):
    """A view asks its runner past the checks of that one."""

    def __init__(self, runner: Sleeper) -> None:
        super().__init__(1, runner)
        self._runner = runner

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        return self._runner._run_one(query, cancel)


class Memory(Sleeper):
    """All candidates share a memory that holds two of those that need much, and one that is too big for it."""

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        with self.guard:
            crowded = self.running >= 2 or "e" in query.source
        found = super()._run_one(query, cancel)
        return replace(found, outcome=replace(found.outcome, kind=OutcomeKind.OOM)) if crowded else found


def test_what_runs_out_of_memory_beside_others_is_asked_again_alone() -> None:
    runner = Memory(jobs=4)
    found = dict(runner.run_many(["0.05"] * 6))
    assert {result.outcome.kind for result in found.values()} == {OutcomeKind.OK}
    assert runner.run("5e-3").outcome.kind is OutcomeKind.OOM
    runner.close()


def test_one_that_is_interrupted_before_it_is_alone_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    company, entered = SharedOrAlone(), threading.Event()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def enter() -> None:
        with company.together():
            entered.set()

    with company.together():
        monkeypatch.setattr(company._changed, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt), company.alone():
            raise AssertionError
        monkeypatch.undo()
        threading.Thread(target=enter, daemon=True).start()
        assert entered.wait(10)


class Asked(PooledRunner):
    """Keeps what it is asked; the source is how long that hangs."""

    def __init__(self) -> None:
        super().__init__(1)
        self.spare = 0.0

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        self.spare = query.spare
        return CandidateResult(Outcome(OutcomeKind.HANG, float(query.source)), AgentNotes(), None, compiled=True)


def test_what_is_starved_is_waited_for_longer_but_never_past_the_end() -> None:
    runner = Asked()
    assert runner.run("10", timeout=10.0).outcome.kind is OutcomeKind.HANG and runner.spare == 30.0
    assert runner.run("120", timeout=120.0).outcome.kind is OutcomeKind.HANG and runner.spare == 90.0
    runner.until(time.monotonic() + 15.0)
    assert runner.run("10", timeout=10.0).outcome.kind is OutcomeKind.HANG and 4.0 < runner.spare < 5.0
    assert runner.run("16", timeout=10.0).outcome.detail == TOO_LATE, "it was cut by the budget, not by its limit"
