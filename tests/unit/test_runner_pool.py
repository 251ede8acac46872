"""Several candidates at once: bounded, in the order they finish, and ended when nobody listens any more."""

from __future__ import annotations

import threading
import time

from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.reduce.interface import CandidateResult
from triage.reduce.runner_limits import LEAST_MEMORY_MB, default_jobs, default_memory_mb, usable_cores
from triage.reduce.runner_pool import PooledRunner, Query


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
        limit = time.monotonic() + float(query.source)
        while time.monotonic() < limit and not cancel.is_set():
            time.sleep(0.002)
        with self.guard:
            self.running -= 1
            self.ended_early += cancel.is_set()
        return CandidateResult(Outcome(OutcomeKind.OK, detail=query.source), AgentNotes(), None, compiled=True)


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
    stream.close()  # type: ignore[attr-defined]
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
