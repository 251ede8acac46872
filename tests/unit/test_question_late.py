"""A question about the reproducer that was ended at its limit, and which limit that is: nothing is known then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from stand_ins import BOOM, LATE, NOT_KNOWN, SIGNATURE, Runner, inquiry, late

from triage.culprit.ablation import Variant, ablate
from triage.culprit.inquiry import seconds_of
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.model.outcome import AgentNotes
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.interface import Problem, Reduction
from triage.reduce.verifying import FreshRuns, verified


@pytest.mark.parametrize("compiled", [True, False])
def test_a_setting_with_which_it_does_not_end_is_not_known(compiled: bool) -> None:
    rows, cures = ablate([Variant("slow", "text")], inquiry(Runner(lambda source, rung: late(compiled=compiled))))
    assert [(row.outcome, row.note) for row in rows] == [("not_run", NOT_KNOWN)] and not cures


def test_where_the_failure_is_a_hang_it_is_the_answer() -> None:
    hang = replace(SIGNATURE, kind=OutcomeKind.HANG)
    assert inquiry(Runner(lambda source, rung: LATE), oracle=SignatureOracle(hang)).judged(late())[0] == "same_failure"


@pytest.mark.parametrize(("took", "limit"), [(0.0, 60.0), (4.0, 60.0), (50.0, 150.0)])
def test_the_limit_follows_what_the_reproducer_took_where_it_was_verified(
    took: float, limit: float, tmp_path: Any
) -> None:
    def ran(seconds: float) -> CandidateResult:
        return CandidateResult(replace(BOOM, seconds=seconds), AgentNotes(), SIGNATURE, compiled=True)

    assert SIGNATURE is not None
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), tmp_path)
    shown = FreshRuns([ran(took / 2), ran(took), CandidateResult(LATE, AgentNotes(), None, compiled=True)])
    small = Reduction("text\n", "native", "source", None, 3, 1.0, True, True)
    made = verified(small, problem, SignatureOracle(SIGNATURE), lambda *_: shown, lambda *_, **__: None)
    assert (made.slowest, seconds_of(made.slowest)) == (took, limit)
