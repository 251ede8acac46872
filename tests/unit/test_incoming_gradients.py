"""A backward pass that begins with the gradients of the script's own: printed, kept in slices, made plain, asked for first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reduce_cases import case, input_names, meta, op, tensor
from stand_ins import PASSED, Runner
from stand_ins import failing as fail_where

from triage.judge.comparison import CheckOracle
from triage.judge.judgement import CandidateResult, Judgement
from triage.judge.signature import signature_of
from triage.model.graphcase import GraphCase
from triage.model.outcome import Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.reduce import failing_comparison
from triage.reduce.graph.canonical import canonical
from triage.reduce.graph.edits import Cut, Keep
from triage.reduce.graph.passes import fills, gradients
from triage.reduce.graph.slices import gradient_input
from triage.reduce.interface import Problem
from triage.reduce.printing.printer import Form, print_case
from triage.session.clock import Clock
from triage.trial.share import LEAST_SECONDS, Share, share_of

FORM = Form(check="values")
FAILED = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", "Tensor-likes are not close!"))
SIGNATURE = signature_of(FAILED)


def training(*gradients: Any, outputs: tuple[str, ...] = ("b",)) -> GraphCase:
    """sin and cos of x; at sin a gradient of twos was seen to arrive."""
    wide = meta(2, requires_grad=True)
    nodes = [replace(op("a", "torch.sin", "%x", out=wide), gradient=[2.0, 2.5]), op("b", "torch.cos", "%a", out=wide)]
    return case([tensor("x", 2, requires_grad=True), *gradients], nodes, *outputs, backward=True, direction="backward")


ARRIVED = gradient_input("b", meta(2), [0.0, 40.0])


def test_the_backward_pass_begins_with_what_arrived() -> None:
    text = print_case(training(ARRIVED), form=FORM)
    assert "def f(x):\n" in text, "a gradient is no argument"
    assert "g = torch.tensor([0.0, 40.0]).to(dtype)\n" in text and "out.backward(g)\n" in text
    assert ".sum()" not in text


def test_one_number_everywhere_is_written_where_it_is_used() -> None:
    full = replace(ARRIVED, fill="full:40.0", data=None)
    assert "out.backward(torch.full_like(out, 40.0))\n" in print_case(training(full), form=FORM)


def test_outputs_without_a_recorded_gradient_get_ones() -> None:
    text = print_case(training(ARRIVED, outputs=("a", "b")), form=FORM)
    assert "torch.autograd.backward([out[0], out[1]], [torch.ones_like(out[0]), g])\n" in text


def test_without_any_the_loss_is_a_sum() -> None:
    assert "out.sum().backward()" in print_case(training(), form=FORM)


def test_a_forward_script_has_none() -> None:
    assert "40.0" not in print_case(replace(training(ARRIVED), backward=False), form=FORM)


@pytest.mark.parametrize("edit", [Keep(frozenset({"a"})), Cut(frozenset({"b"}))])
def test_what_a_slice_returns_gets_the_gradient_that_was_seen_there(edit: Any) -> None:
    found = edit.apply(training(ARRIVED))
    assert input_names(found) == ["x", "gradient_of_a"]
    assert (found.inputs[1].gradient_of, found.inputs[1].data) == ("a", [2.0, 2.5])


def test_an_output_that_stays_keeps_its_gradient() -> None:
    found = Keep(frozenset({"b"})).apply(training(ARRIVED))
    assert sorted(input_names(found)) == ["a", "gradient_of_b"]


def test_a_slice_of_a_sum_is_a_sum() -> None:
    assert input_names(Keep(frozenset({"a"})).apply(training())) == ["x"]


def test_gradients_are_ones_where_that_does_it_and_one_number_where_that_does() -> None:
    (choice,) = gradients.propose(training(ARRIVED))
    made = [edit.apply(training(ARRIVED)) for edit in choice.edits]
    assert input_names(made[0]) == ["x"]
    assert [graph.inputs[1].fill for graph in made[1:]] == ["zeros", "full:40.0", "randn"]
    assert "gradient_of_b" not in {slot for choice in fills.propose(training(ARRIVED)) for slot in choice.slot.split()}


def test_two_cases_that_differ_in_them_are_two_cases() -> None:
    assert len({canonical(graph) for graph in (training(), training(ARRIVED))}) == 2
    elsewhere = replace(ARRIVED, gradient_of="a")
    assert canonical(training(elsewhere, outputs=("a", "b"))) != canonical(training(ARRIVED, outputs=("a", "b")))


def compared(failing: str, *cases: GraphCase, small: bool = False) -> tuple[Any, list[str]]:
    runner = fail_where(lambda source: failing in source, FAILED)
    assert SIGNATURE is not None
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, cases, Path("x"), small=small)
    return failing_comparison.comparison_of(problem, runner, CheckOracle(SIGNATURE), Clock(0.0)), runner.asked


def test_the_graph_with_the_scripts_own_gradients_is_asked_first() -> None:
    _, texts = compared("nothing", training(), training(ARRIVED))
    assert "out.backward(g)" in texts[0] and not any("out.backward(g)" in text for text in texts[2:3])


def test_gradients_of_the_scripts_own_may_be_small() -> None:
    assert "tol=1e-9" in compared("nothing", training(ARRIVED))[1][0]
    assert "tol=" not in compared("nothing", training())[1][0]


def test_what_is_small_throughout_may_be_smaller_than_the_first_fine_tolerance() -> None:
    forward = replace(training(), backward=False, direction="forward")
    _, texts = compared("nothing", forward, small=True)
    tolerances = ("tol=1e-9", "tol=1e-13", "tol=1e-34")
    assert [[each for each in tolerances if each in text] for text in texts[:3]] == [[each] for each in tolerances]


def test_no_whole_graph_is_asked_twice() -> None:
    forward = replace(training(), backward=False, direction="forward")
    _, texts = compared("nothing", forward, training())
    assert len(texts) == len(set(texts)) > 4


class Answering:
    """Judges all alike."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def judge(self, result: CandidateResult) -> Judgement:
        return Judgement(self.verdict)


def test_what_passed_is_not_asked_again_and_all_of_it_is_known_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SIGNATURE is not None
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (training(),), Path("x"))

    def ask(verdict: Verdict, passing: failing_comparison.PassingGraphs, problem: Problem = problem) -> int:
        runner = fail_where(lambda source: False)
        assert failing_comparison.comparison_of(problem, runner, Answering(verdict), Clock(0.0), passing) is None
        return len(runner.asked)

    passing = failing_comparison.PassingGraphs()
    count = ask(Verdict.UNRESOLVED, passing)
    assert count > 0 and not passing.all_of_them and ask(Verdict.NO_FAILURE, passing) == count
    assert passing.all_of_them and ask(Verdict.NO_FAILURE, passing) == 0 and passing.all_of_them
    more = [replace(training(), graph_id=f"0/{number}") for number in range(failing_comparison.CASES + 1)]
    ask(Verdict.NO_FAILURE, passing, replace(problem, cases=tuple(more)))
    assert not passing.all_of_them  # one was left out
    monkeypatch.setattr(failing_comparison, "SECONDS", -1.0)
    ask(Verdict.NO_FAILURE, passing)
    assert not passing.all_of_them


def test_likely_questions_come_before_dear_ones_and_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _, texts = compared("nothing", training(), training(ARRIVED))
    assert ["torch.float64" in text for text in texts[:2]] == [True, True]
    monkeypatch.setattr(failing_comparison, "SECONDS", -1.0)
    assert compared("nothing", training()) == (None, [])


def test_what_follows_a_reduction_may_take_half_as_long_and_a_minute_at_least() -> None:
    whole: Any = Clock(0.0)
    now = 0.0
    share = Share(whole, 10.0, lambda: now)
    assert not share.spent()
    now = 11.0
    assert share.spent() and share.left() == float("inf")
    long, short = share_of(whole, 1000.0), share_of(whole, 1.0)
    assert 400 < long.end - short.end - (LEAST_SECONDS - 60) < 441


def test_a_reproducer_that_takes_long_is_asked_some_questions_all_the_same() -> None:
    whole: Any = Clock(0.0)
    short, dear = share_of(whole, 1.0), share_of(whole, 1.0, 50.0)
    assert 139 < dear.end - short.end < 141


def of_one_dtype(source: str, rung: str | None) -> Outcome:
    """What refers to double precision dies of a tensor that the graph makes itself; all else passes."""
    error = RaisedException("RuntimeError", "mat1 and mat2 must have the same dtype, but got Float and Double")
    return Outcome(OutcomeKind.EXCEPTION, exception=error) if doubled(source) else PASSED


def doubled(source: str) -> bool:
    return "float64" in source or ".double()" in source


def test_a_graph_of_one_dtype_is_asked_for_a_reference_in_another_once() -> None:
    assert SIGNATURE is not None
    runner = Runner(of_one_dtype)
    forward = replace(training(), backward=False, direction="forward")
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (forward, training()), Path("x"))
    assert failing_comparison.comparison_of(problem, runner, CheckOracle(SIGNATURE), Clock(0.0)) is None
    assert [doubled(text) for text in runner.asked].count(True) == 1 < len(runner.asked)


@pytest.mark.parametrize(
    "cast", [op("t", "torch.arange", 2.0, out=meta(2)), op("t", "float", "%x", out=meta(2), kind="call_method")]
)
def test_whether_a_graph_with_a_dtype_of_its_own_has_a_reference_is_asked_without_a_compiler_and_once(
    cast: Any,
) -> None:
    """To compile a large one takes a minute."""
    assert SIGNATURE is not None
    wide = case([tensor("x", 2)], [cast, op("b", "torch.matmul", "%x", "%t", out=meta(2))], "b")
    runner, passing = Runner(of_one_dtype), failing_comparison.PassingGraphs()
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (wide, replace(wide, level="aten")), Path("x"))
    for _ in range(2):
        failing_comparison.comparison_of(problem, runner, CheckOracle(SIGNATURE), Clock(0.0), passing)
        assert not passing.all_of_them
    asked = [rung for text, rung in zip(runner.asked, runner.rungs, strict=True) if doubled(text)]
    assert asked == ["uncompiled"] and len(runner.asked) > 1


def test_a_graph_that_takes_its_dtypes_from_its_inputs_is_compiled_at_once() -> None:
    assert not failing_comparison.fixes_a_dtype(training())
    made = case(
        [tensor("x", 2)], [op("b", "torch.ones_like", "%x", kwargs={"dtype": {"dtype": "float32"}}, out=meta(2))], "b"
    )
    assert failing_comparison.fixes_a_dtype(made)
