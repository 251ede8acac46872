"""Where the failing phase is known for certain, passing candidates are cut off after it; otherwise never."""

from __future__ import annotations

import pytest

from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.trial.cutoff import CutOffRunner, focused, phase_of_failure, phase_of_frames
from triage.trial.facts import ForkFacts
from triage.trial.pool import Query
from triage.trial.runner import ForkServerRunner

SIGNATURE = FailureSignature(
    OutcomeKind.EXCEPTION, "ValueError", "planted", ("torch/_inductor/graph.py:call_function",)
)
OTHER = FailureSignature(OutcomeKind.EXCEPTION, "TypeError", "else", ("torch/_inductor/graph.py:call_function",))


@pytest.mark.parametrize(
    ("frames", "phase"),
    [
        (("torch/_inductor/lowering.py:wrapped", "torch/_inductor/graph.py:call_function"), "lowering"),
        (("torch/_inductor/fx_passes/post_grad.py:reinplace",), "lowering"),
        (("torch/_inductor/codegen/cpp.py:load", "torch/_inductor/scheduler.py:codegen"), "codegen"),
        # The scheduler is built in one phase and generates code in the next: the later one is taken.
        (("torch/_inductor/scheduler.py:__init__",), "codegen"),
        (("torch/_inductor/codegen/common.py:f", "torch/_inductor/graph.py:call_function"), "codegen"),
        # Loaders made in lowering.py also run when code is generated: alone they prove nothing.
        (("torch/_inductor/lowering.py:inner_fn",), None),
        (("torch/_inductor/ir.py:realize",), None),
        (("torch/_inductor/codecache.py:load",), None),
        (("torch/_inductor/graph.py:compile_to_module", "torch/_inductor/graph.py:run"), None),
        (("torch/_dynamo/symbolic_convert.py:step",), None),
        ((), None),
    ],
)
def test_phase_of_frames(frames: tuple[str, ...], phase: str | None) -> None:
    assert phase_of_frames(frames) == phase


@pytest.mark.parametrize(
    ("crumb", "phase"),
    [
        ("lowering of the forward graph 0/0", "lowering"),
        ("scheduling of the backward graph 1/0", "scheduling"),
        ("codegen of the forward graph ?", "codegen"),
        ("build of the forward graph 0/0", None),
        ("run of the forward graph 0/0", None),
        ("run graph 0/0", None),
        ("graph 0/0 compiled", None),
        ("compile graph 0/0", "lowering"),  # nothing was heard from inside: the frames decide
        ("", "lowering"),
    ],
)
def test_the_breadcrumb_goes_before_the_frames(crumb: str, phase: str | None) -> None:
    assert phase_of_failure(AgentNotes(last_breadcrumb=crumb), SIGNATURE) == phase


class Scripted(ForkServerRunner):
    """Answers from a function of (source, cut_off), and remembers what it was asked."""

    def __init__(self, answer) -> None:
        super().__init__("python", jobs=1)
        self.asked: list[tuple[str, str | None]] = []
        self.answer = answer

    def run_cut(self, query: Query, cancel: Cancel, cut_off: str | None) -> ForkFacts:
        self.asked.append((query.source, cut_off))
        signature, cut = self.answer(query.source, cut_off)
        kind = OutcomeKind.OK if signature is None else signature.kind
        outcome = Outcome(kind, exception=None if signature is None else RaisedException(signature.exception_type, ""))
        notes = AgentNotes(last_breadcrumb="lowering of the forward graph 0/0")
        return ForkFacts(CandidateResult(outcome, notes, signature, compiled=True), cut)


def test_nothing_is_cut_off_before_the_failure_was_seen_both_ways() -> None:
    runner = Scripted(
        lambda source, cut: (SIGNATURE if source == "bad" else None, source == "good" and cut is not None)
    )
    cutting = focused(runner, SIGNATURE)
    assert isinstance(cutting, CutOffRunner)
    for source in ("good", "bad", "good", "bad"):
        cutting.run(source)
        cutting.learned()
    assert runner.asked == [
        ("good", None),
        ("bad", None),
        ("bad", "lowering"),
        ("good", "lowering"),
        ("bad", "lowering"),
    ]


def test_a_failure_that_the_cut_off_would_hide_is_never_cut_off() -> None:
    runner = Scripted(lambda source, cut: (SIGNATURE if cut is None else None, cut is not None))
    cutting = CutOffRunner(runner, SIGNATURE)
    assert cutting.run("bad").signature == SIGNATURE
    assert cutting.learned() is None
    assert cutting.run("bad").signature == SIGNATURE
    assert [cut for _, cut in runner.asked] == [None, "lowering", None]


def test_a_failing_candidate_with_a_cut_graph_is_run_again_in_full() -> None:
    runner = Scripted(
        lambda source, cut: (SIGNATURE if source == "bad" or cut else None, source == "two" and cut is not None)
    )
    cutting = CutOffRunner(runner, SIGNATURE)
    cutting.run("bad")
    assert cutting.learned() == "lowering"
    assert cutting.run("two").outcome.kind is OutcomeKind.OK
    assert runner.asked[-2:] == [("two", "lowering"), ("two", None)]


def test_another_failure_teaches_nothing() -> None:
    runner = Scripted(lambda source, cut: (OTHER, False))
    cutting = CutOffRunner(runner, SIGNATURE)
    cutting.run("sibling")
    assert cutting.learned() is None
    assert runner.asked == [("sibling", None)]


def test_what_hangs_in_a_phase_was_never_past_it_and_is_not_waited_for_again() -> None:
    hang = FailureSignature(OutcomeKind.HANG, "hang", "compiling")
    runner = Scripted(lambda source, cut: (hang if source == "bad" else None, source == "good" and cut is not None))
    cutting = CutOffRunner(runner, hang)
    cutting.run("bad")
    assert cutting.learned() == "lowering"
    cutting.run("good")
    assert runner.asked == [("bad", None), ("good", "lowering")]
