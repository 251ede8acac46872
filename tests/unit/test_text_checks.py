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


class Handles(PooledRunner):
    """Fails compiled; with the passing rung it handles an error, which a text that says `expected` meets uncompiled too."""

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        if query.rung is None:
            return FAILS
        error = RaisedException("RuntimeError", "all elements of target should be between 0 and 1", swallowed=True)
        met = replace(PASSES, notes=AgentNotes(raised=(error,)))
        if query.rung == UNCOMPILED.name:
            return met if "expected" in query.source else PASSES
        return replace(met, outcome=Outcome(OutcomeKind.EXCEPTION, 0.1, 0, exception=error))


def test_what_a_program_handles_uncompiled_too_is_no_failure_of_the_passing_rung() -> None:
    """Else no candidate of a program that relies on an exception could be one."""
    assert FAILS.signature is not None
    paired = PairedRunner(Handles(1), FAILS.signature, "aot_eager")
    assert paired.run("expected").outcome.kind is OutcomeKind.WRONG_RESULT
    refused = paired.run("of the compiler's own").outcome
    assert (refused.kind, refused.detail) == (OutcomeKind.INVALID, "it fails with aot_eager too: exception")
