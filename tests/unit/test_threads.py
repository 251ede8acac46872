"""Failures that need more than one thread: known as that where a candidate passes with one, and candidates have several then."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from triage.environments.machine import usable_cores
from triage.judge.judgement import Judgement
from triage.model.stage import OutcomeKind, Verdict
from triage.reduce.failing_comparison import PassingGraphs
from triage.reduce.interface import UNREDUCED
from triage.session.clock import Clock
from triage.stories import threads
from triage.trial.runner import ForkServerRunner

SAME, PASSES = Verdict.SAME_FAILURE, Verdict.NO_FAILURE


class Runner:
    """One that gives `alone` with one thread, and `several` with more."""

    def __init__(self, alone: Verdict, several: Verdict) -> None:
        self.answers, self.several = {False: alone, True: several}, False

    def with_threads(self, several: bool = True) -> None:
        self.several = several

    def comparing(self, accuracy: object) -> Any:
        return nullcontext()

    def run(self, source: str, **how: object) -> Verdict:
        return self.answers[self.several]


@pytest.mark.parametrize(
    ("alone", "several", "engine", "needed"),
    [
        (PASSES, SAME, UNREDUCED, True),
        (PASSES, PASSES, UNREDUCED, False),  # it fails in fresh processes alone, whatever that is
        (SAME, SAME, UNREDUCED, False),  # it could not be reduced for another reason
        (PASSES, SAME, "native", False),  # what was reduced did fail with one
    ],
)
def test_threads_are_needed_where_with_one_it_passes_and_with_several_it_fails(
    monkeypatch: pytest.MonkeyPatch, alone: Verdict, several: Verdict, engine: str, needed: bool
) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: 2)
    facts = {
        "source": "",
        "prints": False,
        "verified": 3,
        "seconds": 1.0,
        "slowest": 1.0,
        "case": "source",
        "oracle": None,
    }
    known = PassingGraphs({"text"})
    found: Any = SimpleNamespace(
        reproduced=SimpleNamespace(engine=engine, **facts),
        session=SimpleNamespace(emit=lambda *_, **__: None, clock=Clock(None)),
        notes=[],
        passing_graphs=known,
    )
    runner: Any = Runner(alone, several)
    oracle: Any = SimpleNamespace(judge=Judgement)
    problem: Any = SimpleNamespace(rung="inductor")
    assert threads.needed(found, problem, runner, oracle) is needed
    assert runner.several is needed and found.notes == [threads.NEEDED] * needed
    assert (found.passing_graphs is known) is not needed


@pytest.mark.skipif(usable_cores() < 2, reason="one core is one thread")
def test_a_warm_interpreter_is_given_the_threads_of_the_program_and_one_again() -> None:
    pytest.importorskip("torch")
    source = "import torch\nassert torch.get_num_threads() == 1, torch.get_num_threads()\n"
    runner = ForkServerRunner(sys.executable, jobs=1)
    try:
        outcomes = []
        for several in (False, True, False):
            runner.with_threads(several)
            outcomes.append(runner.run(source, rung="eager", timeout=60.0).outcome.kind)
        assert runner.why_slow is None
    finally:
        runner.close()
    assert outcomes == [OutcomeKind.OK, OutcomeKind.EXCEPTION, OutcomeKind.OK]
