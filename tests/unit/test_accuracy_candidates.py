"""Candidates that compare: they need both verdicts, and the first value that is wrong is found."""

from dataclasses import replace
from pathlib import Path

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import Runner, failing, inquiry
from stand_ins import result as tried
from wrong_values import CHECK, EVENTS, FAILS, GRADIENT, NAN, OUTPUT, ran

from triage.culprit.first_wrong import first_wrong
from triage.judge.comparison import CheckOracle, ComparisonOracle, FirstComparisonOracle, SameKindOracle
from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.model.accuracy import Check, Wrongness, WrongResult
from triage.model.graphcase import Context, GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.probe.notes import agent_notes
from triage.reduce.failing_comparison import comparison_of
from triage.reduce.interface import Problem
from triage.reduce.printing.printer import Form, print_case
from triage.session.clock import Clock


def judged(outcome: Outcome, notes: AgentNotes, wanted: WrongResult = OUTPUT, **how: bool) -> Verdict:
    signature = signature_of(ran(AgentNotes(wrongs=(wanted,))))
    assert signature.wrong == wanted.wrongness
    oracle = ComparisonOracle(signature, **how)
    return oracle.judge(CandidateResult(outcome, notes, signature_of(outcome), True)).verdict


def test_of_texts_that_compare_the_first_that_fails_is_the_measure() -> None:
    checking = Frame("/v/lib/python3.11/site-packages/torch/testing/_comparison.py", 1, "assert_close")

    def result(message: str, kind: str = "AssertionError", *frames: Frame) -> CandidateResult:
        exception = RaisedException(kind, message, (Frame("repro.py", 9, "<module>"), *(frames or [checking])))
        outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=exception)
        return CandidateResult(outcome, AgentNotes(), signature_of(outcome), True)

    oracle = FirstComparisonOracle()
    passes = CandidateResult(Outcome(OutcomeKind.OK, 1.0, 0), AgentNotes(), None, True)
    assert oracle.judge(passes).verdict is Verdict.NO_FAILURE
    assert oracle.judge(result("no such attribute", "AttributeError")).verdict is Verdict.UNRESOLVED
    inside = Frame("repro.py", 5, "main")  # the program's own check, which the text holds as well
    assert oracle.judge(result("got 0", "AssertionError", inside)).verdict is Verdict.UNRESOLVED
    assert oracle.judge(result("not close!", "AssertionError", inside, checking)).verdict is Verdict.UNRESOLVED
    assert oracle.judge(result("Tensor-likes are not close!")).verdict is Verdict.SAME_FAILURE
    assert oracle.judge(result("The values for attribute 'shape' do not match")).verdict is Verdict.UNRESOLVED
    assert oracle.judge(result("Tensor-likes are not close!")).verdict is Verdict.SAME_FAILURE


def test_a_candidate_needs_both_verdicts() -> None:
    wrong = AgentNotes(wrongs=(replace(OUTPUT, item="output 0"),), compared=1)
    assert judged(FAILS, wrong) is Verdict.SAME_FAILURE
    assert judged(FAILS, AgentNotes()) is Verdict.SAME_FAILURE  # a plain run, to verify
    assert judged(ran(wrong), wrong) is Verdict.NO_FAILURE
    crash = Outcome(OutcomeKind.CRASH, 1.0, -11, "SIGSEGV")
    assert judged(crash, AgentNotes()) is Verdict.UNRESOLVED


def test_what_eager_explains_is_no_failure() -> None:
    assert judged(FAILS, AgentNotes(compared=1)) is Verdict.NO_FAILURE
    assert judged(FAILS, AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",))) is Verdict.UNRESOLVED
    skipped = AgentNotes(not_compared=("graph 0/0: ...",))
    assert judged(FAILS, skipped) is Verdict.UNRESOLVED
    assert judged(FAILS, skipped, lenient=True) is Verdict.SAME_FAILURE


@pytest.mark.parametrize(
    "other",
    [
        NAN,
        GRADIENT,
        replace(OUTPUT, item="x after the call"),
        replace(OUTPUT, kind="dtype", words="dtype is bfloat16 compiled, float32 in eager"),
    ],
)
def test_another_kind_of_wrongness_is_another_failure(other: WrongResult) -> None:
    assert judged(FAILS, AgentNotes(wrongs=(other,), compared=1)) is Verdict.UNRESOLVED
    assert (
        judged(FAILS, AgentNotes(wrongs=(other, OUTPUT), compared=1)) is Verdict.SAME_FAILURE
    )  # it is wrong in both ways


def test_a_value_that_is_another_in_each_run_is_one_failure_whatever_it_is() -> None:
    varies = replace(OUTPUT, varies=True)
    by_luck = replace(varies, by_luck=True)
    plain, other_place = AgentNotes(), replace(varies, item="gradient of w")
    nan = replace(FAILS, exception=replace(FAILS.exception, check=Check("nan")))
    assert judged(nan, plain) is Verdict.UNRESOLVED  # in a fresh process only its own check tells
    assert judged(nan, plain, varies) is Verdict.SAME_FAILURE
    assert judged(FAILS, AgentNotes(wrongs=(varies,), compared=1), varies) is Verdict.SAME_FAILURE
    assert judged(FAILS, AgentNotes(wrongs=(other_place,), compared=1), varies) is Verdict.UNRESOLVED
    # What is the same in each run comes of something else, and what memory may make right fails by luck.
    for wanted, found in ((varies, OUTPUT), (varies, NAN), (OUTPUT, varies), (varies, by_luck)):
        assert judged(FAILS, AgentNotes(wrongs=(found,), compared=1), wanted) is Verdict.UNRESOLVED
    assert judged(FAILS, AgentNotes(wrongs=(by_luck,), compared=1), by_luck) is Verdict.SAME_FAILURE
    assert judged(FAILS, AgentNotes(wrongs=(varies,), compared=1), by_luck) is Verdict.SAME_FAILURE


def test_a_nan_in_eager_alone_is_not_a_nan_compiled() -> None:
    assert judged(FAILS, AgentNotes(wrongs=(replace(NAN, sense="eager"),), compared=1), NAN) is Verdict.UNRESOLVED


def test_the_kind_is_part_of_the_fingerprint() -> None:
    prints = {signature_of(ran(AgentNotes(wrongs=(each,)))) for each in (OUTPUT, NAN, GRADIENT)}
    assert len({signature.fingerprint for signature in prints if signature}) == 3


def wrong_at(*words: str) -> Runner:
    """Runs candidates whose result is wrong once it holds one of these words."""
    failure = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=CHECK)
    return failing(lambda source: any(word in source for word in words), failure)


def chain(*targets: str) -> GraphCase:
    meta = TensorMeta((4,), (1,), "float32")
    nodes, last = [], "x"
    for number, target in enumerate(targets):
        nodes.append(GraphNode(f"n{number}", "call_function", target, [{"ref": last}], {}, [meta]))
        last = f"n{number}"
    return GraphCase("dynamo", (GraphInput("x", meta=meta),), tuple(nodes), ({"ref": last},))


def first(case: GraphCase, *words: str) -> str | None:
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    found = first_wrong(case, Form(check="values"), inquiry(wrong_at(*words), oracle=ComparisonOracle(signature)))
    return found.node.target if found else None


def test_the_first_value_that_is_wrong() -> None:
    case = chain("torch.sin", "torch.relu", "torch.cos")
    assert first(case, "relu") == "torch.relu"
    assert first(case, "nothing of it") is None
    assert first(chain("torch.tanh"), "nothing of it") == "torch.tanh"  # the only one


def test_a_value_is_looked_at_before_a_later_operation_writes_over_it() -> None:
    calls = [
        node("put", ".relu_", "%x", out=meta(4)),
        node("turned", ".flip", "%x", 0, out=meta(4)),
        node("sum", ".add_", "%x", "%turned", out=meta(4)),
    ]
    assert first(case([tensor("x", 4)], calls, "%sum"), "add_") == "add_"


def test_an_operation_that_gives_nothing_is_looked_at_by_what_it_changes() -> None:
    calls = [
        node("old", ".clone", "%x", out=meta(4)),
        node("put", "torch.ops.lab.blend_.default", "%x", "%old", out=[]),
        node("rest", ".sub", "%y", "%x", out=meta(4)),
    ]
    graph = case([tensor("x", 4), tensor("y", 4)], calls, "%rest")
    assert first(graph, "lab.blend_") == "torch.ops.lab.blend_.default"


def test_the_first_value_that_is_wrong_may_be_too_small_for_the_check_of_its_candidate() -> None:
    passed = Outcome(OutcomeKind.OK, 1.0, 0)
    runner = Runner(lambda source, rung: tried(passed, wrongs=(OUTPUT,) if "relu" in source else (), compared=1))
    signature = signature_of(ran(AgentNotes(wrongs=(OUTPUT,))))
    assert signature is not None
    case = chain("torch.sin", "torch.relu", "torch.cos")
    found = first_wrong(case, Form(check="values"), inquiry(runner, oracle=SameKindOracle(signature)))
    assert found.node.target == "torch.relu"
    other = tried(passed, wrongs=(replace(OUTPUT, kind="strides"),), compared=1)
    assert SameKindOracle(signature).judge(other).verdict is Verdict.UNRESOLVED
    nan = tried(passed, wrongs=(replace(OUTPUT, kind="nan", sense="eager"),), compared=1)
    assert SameKindOracle(signature).judge(nan).verdict is Verdict.SAME_FAILURE  # it makes one later
    assert SameKindOracle(signature).judge(tried(passed, compared=1)).verdict is Verdict.NO_FAILURE


def test_gradients_are_compared_where_nothing_else_shows_and_taken_outside_of_autocast() -> None:
    meta = TensorMeta((4,), (1,), "float32", requires_grad=True)
    half = Context(autocast=("cpu", "bfloat16"))
    nodes = tuple(replace(node, out=[meta]) for node in chain("torch.sin").nodes)
    graph = replace(chain("torch.sin"), inputs=(GraphInput("x", meta=meta),), nodes=nodes, context=half)
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    runner = wrong_at("backward()")
    problem = Problem(signature, Stage.AOT_AUTOGRAD, "aot_eager", None, (graph,), Path("x"))
    found = comparison_of(problem, runner, CheckOracle(signature), Clock(0.0))
    assert found[0].backward
    text = print_case(found[0], form=found[1])
    forward = '    with torch.autocast("cpu", dtype=torch.bfloat16):\n        out = fn(x)\n    out.sum().backward()\n'
    assert forward in text and text.count("autocast") == 1
    assert (
        comparison_of(replace(problem, cases=(chain("torch.sin"),)), runner, CheckOracle(signature), Clock(0.0)) is None
    )


def test_a_nan_is_looked_for_as_torchs_tests_do_first() -> None:
    """`same` calls a lost NaN right: compiled and eager are equally far, by NaN, from the reference, or from a double itself."""
    meta = TensorMeta((4,), (1,), "float32", requires_grad=True)
    begins = GraphInput("g", role="gradient", meta=meta, gradient_of="n0")
    nodes = tuple(replace(node, out=[meta]) for node in chain("torch.sin").nodes)
    graph = replace(chain("torch.sin"), inputs=(GraphInput("x", meta=meta), begins), nodes=nodes, backward=True)
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    runner = wrong_at("torch.sin")
    for kind, asked in (("nan", (True, False)), ("values", (False, True))):
        wanted = replace(signature, wrong=Wrongness(kind, "output 0", "eager"))
        problem = Problem(wanted, Stage.INDUCTOR, "inductor", None, (graph,), Path("x"))
        found = comparison_of(problem, runner, CheckOracle(wanted), Clock(0.0))
        assert (found.form.close, bool(found.form.fine)) == asked


def without_gradient(source: str, rung: str | None) -> Outcome:
    """Of which a compiled gradient is None: the comparison itself raises, unless it counts as zeros."""
    if "zeros_like" in source or ".grad" not in source:
        return wrong_at("backward()").run(source).outcome
    raised = RaisedException("RuntimeError", "Could not infer dtype of NoneType", frames=())
    return Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=raised)


def test_a_comparison_bears_a_gradient_that_is_none() -> None:
    meta = TensorMeta((4,), (1,), "float32", requires_grad=True)
    nodes = tuple(replace(node, out=[meta]) for node in chain("torch.sin").nodes)
    graph = replace(chain("torch.sin"), inputs=(GraphInput("x", meta=meta),), nodes=nodes, backward=True)
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    runner = Runner(without_gradient)
    problem = Problem(signature, Stage.AOT_AUTOGRAD, "aot_eager", None, (graph,), Path("x"))
    found = comparison_of(problem, runner, CheckOracle(signature), Clock(0.0))
    assert found.form.zeros
    assert "    return out, torch.zeros_like(x) if x.grad is None else x.grad\n" in found.source


def test_a_gradient_that_is_none_has_no_number() -> None:
    absent = replace(GRADIENT, words="no gradient compiled, eager has one", compiled=0.0, eager=2.0)
    assert absent.headline() == "gradient of self.w of a compiled graph: no gradient compiled, eager has one"
    assert "compiled None, eager 2" in absent.details()
    assert absent.wrongness == GRADIENT.wrongness


def test_of_a_value_that_was_picked_the_operation_is_told_that_gave_it() -> None:
    meta, indices = TensorMeta((4,), (1,), "float32"), TensorMeta((4,), (1,), "int64")
    pool = GraphNode("n0", "call_function", "torch.max_pool1d", [{"ref": "x"}, 2], {}, [meta, indices], multi=True)
    picked = GraphNode("n1", "call_function", "operator.getitem", [{"ref": "n0"}, 1], {}, [indices])
    case = GraphCase("dynamo", (GraphInput("x", meta=meta),), (pool, picked), ({"ref": "n1"},))
    assert first(case, "nothing of it") == "torch.max_pool1d"
