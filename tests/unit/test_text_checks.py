"""What a candidate must not do that fails the same way: here without a compiler, with a runner that knows the answers."""

from __future__ import annotations

from dataclasses import replace

from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, CompileCall, Outcome, RaisedException
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.reduce.text.checks.runners import PairedRunner
from triage.trial.pool import PooledRunner, Query

WRONG = Outcome(
    OutcomeKind.WRONG_RESULT, exit_code=1, exception=RaisedException("AssertionError", "Tensor-likes are not close!")
)
FAILS = CandidateResult(WRONG, AgentNotes(compile_calls=(CompileCall(None),)), signature_of(WRONG), compiled=True)
PASSES = CandidateResult(Outcome(OutcomeKind.OK, 0.1, 0), AgentNotes(), None, compiled=True)


class Knows(PooledRunner):
    """Compiled every text fails the same way; one that says `again` compiles a graph a second time."""

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        if query.rung == UNCOMPILED.name:
            return PASSES
        return replace(FAILS, notes=replace(FAILS.notes, recompiles=int("again" in query.source)))


def test_a_graph_is_compiled_again_only_where_the_programs_was() -> None:
    """The check says the same of a graph that is used again wrongly and of a second one that is wrong itself."""
    assert FAILS.signature is not None
    runner = Knows(1)
    never = PairedRunner(runner, FAILS.signature, recompiles=False)
    assert never.run("once").outcome.kind is OutcomeKind.WRONG_RESULT
    refused = never.run("again").outcome
    assert (refused.kind, refused.detail) == (
        OutcomeKind.INVALID,
        "it compiles a graph again, which the program does not",
    )
    assert PairedRunner(runner, FAILS.signature).run("again").outcome.kind is OutcomeKind.WRONG_RESULT
