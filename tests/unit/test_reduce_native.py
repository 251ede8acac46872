"""The native engine on cases whose failure is a predicate: what it ends at, what it reports, how it ends early."""

import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from native_engine import M, Written, model, problem, reduce, target
from reduce_cases import case, meta, names, op, tensor
from synthetic import FreeRunner, NoLimit, branchy, chain, contains, failure, planted

from triage.judge.asking import StopReductionError
from triage.judge.judgement import RefusedError
from triage.judge.oracle import SignatureOracle
from triage.model.accuracy import Wrongness
from triage.model.graphcase import Context, GraphCase, GraphInput
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind
from triage.reduce.graph import engine as graph_engine
from triage.reduce.graph.engine import NativeEngine, printed
from triage.reduce.graph.starts import starts
from triage.reduce.interface import NoReduction, Reduction
from triage.reduce.printing.printer import print_case
from triage.reduce.verifying import Verification, as_it_is
from triage.trial.interface import Resources


def test_one_guilty_operation_is_found_alone_before_the_whole_graph_is_ever_run():
    found, runner = reduce(target("torch.lerp"), model())
    assert isinstance(found, Reduction)
    assert [node.target for node in found.graph.nodes] == ["torch.lerp"]
    assert max(len(asked.nodes) for asked in runner.asked) == 1
    assert (found.ops, found.minimal, found.complete, found.engine, found.case) == (1, True, True, "native", "graph")
    assert found.queries == len(runner.asked) <= 15


def test_where_the_operation_is_all_that_is_asked_for_the_first_that_fails_alone_ends_it():
    whole, asked_whole = reduce(target("torch.lerp"), model())
    found, runner = reduce(target("torch.lerp"), model(), operation_only=True)
    assert isinstance(found, Reduction) and isinstance(whole, Reduction)
    assert [node.target for node in found.graph.nodes] == ["torch.lerp"]
    assert (found.ops, found.enough, found.minimal, found.complete) == (1, True, False, True)
    assert "Which operation is to blame was all that was asked for, so it was made no smaller." in found.notes
    assert len(runner.asked) < len(asked_whole.asked) and not whole.enough


def test_where_several_are_left_the_operation_is_not_known_and_all_is_done():
    found, _ = reduce(contains(13, 37), chain(50), operation_only=True)
    assert isinstance(found, Reduction)
    assert (found.ops, found.enough, found.minimal) == (2, False, True)


def test_what_the_printer_stumbles_over_is_one_candidate_less():
    def source(header):
        raise IndexError("tuple index out of range")

    with pytest.raises(RefusedError, match="the printer failed: IndexError: tuple index out of range"):
        printed("")(SimpleNamespace(source=source))


def test_evidence_comes_first():
    _, runner = reduce(target("torch.lerp"), model(), evidence=["aten.lerp.Scalar"])
    assert [node.target for node in runner.asked[0].nodes] == ["torch.lerp"]


def test_a_suspect_that_needs_its_neighbours_is_grown():
    judge = contains(200, 202)
    found, runner = reduce(judge, chain(400), evidence=["demo.op_201"])
    assert isinstance(found, Reduction)
    assert [node.target for node in found.graph.nodes] == ["torch.ops.demo.op_200", "torch.ops.demo.op_202"]
    assert max(len(asked.nodes) for asked in runner.asked) < 100


@pytest.mark.parametrize("shape", [chain, lambda size: branchy(size, 1)])
@pytest.mark.parametrize("triggers", [(0, 399), (0, 1), (398, 399), (199, 200), (13, 377)])
def test_two_triggers_anywhere_among_400_take_at_most_60_queries(shape, triggers):
    found, _ = reduce(contains(*triggers), shape(400))
    assert isinstance(found, Reduction)
    assert len(found.graph.nodes) == 2
    assert found.minimal
    assert found.queries <= 60


def test_queries_grow_with_the_logarithm_of_a_chain():
    def most(size):
        pairs = [(0, size - 1), (size // 3, size // 2), (size // 4, size - 2)]
        return max(reduce(contains(*pair), chain(size))[0].queries for pair in pairs)

    counts = [most(size) for size in (50, 100, 200, 400)]
    assert all(twice - once <= 8 for once, twice in pairwise(counts))


def test_what_is_left_is_made_plain():
    def judge(graph):
        return failure("the planted failure") if any(node.target == "torch.lerp" for node in graph.nodes) else None

    state = Context(grad_enabled=False, mode="max-autotune", config=("torch._inductor.config.x = 1",))
    wide = meta(8, 64, dtype="float64")
    graph = case(
        [tensor("x", 8, 64, dtype="float64", stride=(1, 8), requires_grad=True)],
        [op("y", "torch.lerp", "%x", "%x", 0.3, out=wide, kwargs={"out": None})],
        "y",
        context=state,
        preamble=("import something",),
    )
    found, _ = reduce(judge, graph)
    assert isinstance(found, Reduction)
    (item,), (node,) = found.graph.inputs, found.graph.nodes
    assert item.meta == meta()
    assert item.fill == "ones"
    assert (node.kwargs, found.graph.context, found.graph.preamble) == ({}, Context(), ())


def test_a_size_is_turned_down_to_its_boundary_and_the_passing_neighbour_is_kept():
    def judge(graph):
        shapes = [item.meta.shape for item in graph.inputs if item.meta is not None]
        big = any(extent >= 17 for shape in shapes for extent in shape)
        return failure("the planted failure") if big and graph.nodes else None

    graph = case([tensor("x", 4, 100)], [op("y", "torch.softmax", "%x", 1, out=meta(4, 100))], "y")
    found, runner = reduce(judge, graph)
    assert isinstance(found, Reduction) and found.graph is not None
    assert found.graph.inputs[0].meta.shape == (17,)
    assert found.passing_difference == "It fails with a size of 17 and passes with 16."
    assert found.passing is not None
    passing = runner.written[found.passing].inputs[0].meta
    assert passing.shape == (16,)


def test_sizes_go_down_with_the_argument_that_held_them_up() -> None:
    def judge(graph: GraphCase) -> Outcome | None:
        windows = [node.args[1] for node in graph.nodes if len(node.args) > 1]
        fits = all(extent >= 2 * window for window in windows for extent in graph.inputs[0].meta.shape)
        return failure("the planted failure") if windows and fits else None

    graph = case([tensor("x", 16, 19)], [op("y", "torch.nn.functional.lp_pool1d", "%x", 7, out=meta(16, 4))], "y")
    found, _ = reduce(judge, graph)
    assert isinstance(found, Reduction) and found.graph is not None
    assert found.graph.nodes[0].args[1] == 1
    (item,) = found.graph.inputs
    assert item.meta is not None and max(item.meta.shape, default=2) == 2


def test_a_seed_goes_where_nothing_drawn_matters() -> None:
    graph = case([tensor("x", 4)], [op("y", "torch.dropout", "%x", 0.5, True)], "y")
    runner = Written(target("torch.dropout"), graph, "torch.dropout")
    found = NativeEngine().reduce(problem(graph), runner.resources())
    assert isinstance(found, Reduction) and found.form is not None and found.graph is not None
    assert "torch.manual_seed(0)" in print_case(found.graph)
    assert "manual_seed" not in found.source
    assert "torch.manual_seed(0)" in print_case(found.graph, form=replace(found.form, check="values"))


def test_what_the_failure_needs_is_kept_and_told():
    def judge(graph):
        needs = any(item.meta is not None and item.meta.dtype == "bfloat16" for item in graph.inputs)
        return failure("the planted failure") if needs and graph.nodes else None

    graph = case([tensor("x", 4, dtype="bfloat16")], [op("y", "torch.sin", "%x", out=meta(4, dtype="bfloat16"))], "y")
    found, _ = reduce(judge, graph)
    assert isinstance(found, Reduction)
    assert found.passing_difference == "It passes with float32 instead of bfloat16."


@pytest.mark.parametrize(("named", "again"), [("linear", False), ("tanh", True)])
def test_where_the_error_names_what_no_script_can_be_given_the_others_are_not_asked_again(named: str, again: bool):
    """Each operation was asked for by then, alone or with others."""
    inputs = [GraphInput("x", kind="opaque", value="a tensor of a subclass"), tensor("w", 4, 4)]
    nodes = [op("a", "torch.nn.functional.linear", "%x", "%w", out=meta(4)), op("b", "torch.tanh", "%a", out=meta(4))]
    others = ["sin", "cos", "exp", "abs", "erf", "log", "sqrt", "relu", "neg", "tan", "atan", "sinh", "cosh"]
    nodes += [op(name, f"torch.{name}", "%b", out=meta(4)) for name in others]
    events = []
    whole = case(inputs, nodes, "a", *others)
    found, _ = reduce(lambda graph: None, whole, evidence=(f"aten.{named}.default",), events=events)
    assert isinstance(found, NoReduction)
    phases = {facts["phase"] for kind, facts in events if kind == "query"}
    assert "singles" in phases and ("every kind" in phases) is again


def test_of_several_that_pass_the_one_whose_text_differs_least_is_the_nearest():
    """Without its other arguments `where` is another operation."""

    def judge(graph):
        needs = any(item.meta is not None and item.meta.dtype == "bfloat16" for item in graph.inputs)
        whole = any(len(node.args) == 3 for node in graph.nodes)
        return failure("the planted failure") if needs and whole else None

    low = meta(4, dtype="bfloat16")
    inputs = [tensor("m", 4, dtype="bool"), tensor("x", 4, dtype="bfloat16"), tensor("y", 4, dtype="bfloat16")]
    found, _ = reduce(judge, case(inputs, [op("z", "torch.where", "%m", "%x", "%y", out=low)], "z"))
    assert isinstance(found, Reduction)
    assert found.passing_difference == "It passes with float32 instead of bfloat16."


def test_a_neighbour_that_was_only_cut_off_is_not_told_as_passing():
    class Hasty(FreeRunner):
        """Calls candidates passing that, run in full, are not."""

        def run(self, source, *, rung=None, timeout=None):
            result = super().run(source)
            return result if sys._getframe(1).f_code.co_name == "run_many" else replace(result, outcome=failure("late"))

    graph = case([tensor("x", 4, dtype="bfloat16")], [op("y", "torch.sin", "%x", out=meta(4, dtype="bfloat16"))], "y")

    def judge(asked):
        needs = any(item.meta is not None and item.meta.dtype == "bfloat16" for item in asked.inputs)
        return failure("the planted failure") if needs and asked.nodes else None

    runner = Hasty(judge)
    engine = NativeEngine(render=runner.render)
    found = engine.reduce(
        problem(graph), Resources(runner, SignatureOracle(planted()), NoLimit(), lambda kind, **facts: None)
    )
    assert isinstance(found, Reduction)
    assert found.minimal and found.passing is None


def test_a_backward_failure_keeps_its_training_step():
    def judge(graph):
        return failure("the planted failure") if graph.backward and graph.nodes else None

    wants = meta(4, requires_grad=True)
    nodes = [op("a", "torch.sin", "%x", out=wants), op("b", "torch.cos", "%a", out=wants)]
    graph = case([tensor("x", 4, requires_grad=True)], nodes, "b", backward=True, direction="backward")
    found, runner = reduce(judge, graph)
    assert isinstance(found, Reduction)
    assert found.graph.backward
    assert all(asked.backward for asked in runner.asked)


def test_the_graph_of_the_users_calls_comes_first_and_the_aten_graph_stands_in_for_it():
    aten = replace(model(), level="aten")
    plain = case([tensor("x", 4)], [op("y", "torch.linear", "%x", out=M)], "y")
    found, runner = reduce(target("torch.lerp"), aten, plain)
    assert isinstance(found, Reduction)
    assert runner.asked[0].level == "dynamo"
    assert found.graph.level == "aten"
    assert any("ATen" in note for note in found.notes)


def test_a_graph_that_keeps_the_books_of_torch_func_comes_after_the_aten_graph():
    enters = op("level", "torch._functorch.predispatch._jvp_increment_nesting", out=M)
    dual = op("dual", "torch._functorch.predispatch._make_dual", "%x", "%x", out=M)
    levels = case([tensor("x", 4)], [enters, dual, op("y", "torch.lerp", "%dual", "%x", 0.5, out=M)], "y")
    aten = replace(model(), level="aten")
    found, runner = reduce(target("torch.lerp"), levels, aten)
    assert isinstance(found, Reduction) and found.graph.level == "aten"
    assert {asked.level for asked in runner.asked} == {"aten"}
    told = "the graph of the user's own calls keeps the books of `torch.func`, by private calls."
    assert f"Reduced from the graph of ATen operators; {told}" in found.notes


@pytest.mark.parametrize(
    ("wrong", "rung", "first"),
    [
        (Wrongness("values", "output 0"), "inductor", "aten"),
        (Wrongness("values", "output 0"), "aot_eager", "dynamo"),  # what is above Inductor has made that graph
        (Wrongness("values", "gradient of x"), "inductor", "dynamo"),  # it has no such names
        (None, "inductor", "dynamo"),
    ],
)
def test_so_does_it_of_a_wrong_result_that_it_can_show(wrong: Wrongness | None, rung: str, first: str) -> None:
    levels = case(
        [tensor("x", 4)], [op("level", "torch._functorch.predispatch._jvp_increment_nesting", out=M)], "level"
    )
    asked = problem(levels, replace(model(), level="aten"), rung=rung, kind=OutcomeKind.WRONG_RESULT)
    asked = replace(asked, signature=replace(asked.signature, wrong=wrong))
    assert starts(asked, None)[0][0].candidate.case.level == first


def test_candidates_run_on_the_lowest_rung_that_fails():
    state = Context(mode="max-autotune", options={"a": 1})
    ((start,),) = starts(problem(replace(model(), context=state), rung="aot_eager"), None)
    assert start.candidate.case.backend == "aot_eager"
    assert start.candidate.case.context == Context()


def test_where_nothing_fails_the_same_way_a_sentence_says_so():
    found, _ = reduce(lambda graph: None, model())
    assert isinstance(found, NoReduction)
    assert "fails the same way" in found.reason
    nothing, _ = reduce(lambda graph: None)
    assert isinstance(nothing, NoReduction) and "no graph was captured" in nothing.reason


def test_a_graph_whose_failing_operation_cannot_be_written_is_not_searched():
    schedule = GraphInput("schedule", kind="opaque", value="an input of type Schedule")
    graph = case([tensor("x", 8), schedule], [op("y", "torch.ops.own.noise", "%x", "%schedule", out=meta(8))], "y")
    asked = replace(problem(graph), signature=replace(planted(), message="no autograd formula for own.noise.default"))
    runner = FreeRunner(target("torch.ops.own.noise"), 1)
    resources = Resources(runner, SignatureOracle(planted()), NoLimit(), lambda kind, **facts: None)
    found = NativeEngine(render=runner.render).reduce(asked, resources)
    assert isinstance(found, NoReduction) and found.reason.startswith("own.noise, which the failure names")
    assert not runner.asked


def test_another_failure_is_never_followed():
    def judge(graph):
        has = {node.target for node in graph.nodes}
        if {"torch.ops.demo.op_10", "torch.ops.demo.op_30"} <= has:
            return failure("the planted failure")
        return failure("an easier one") if "torch.ops.demo.op_20" in has else None

    found, runner = reduce(judge, chain(60))
    assert isinstance(found, Reduction)
    assert [node.target for node in found.graph.nodes] == ["torch.ops.demo.op_10", "torch.ops.demo.op_30"]
    (met,) = found.siblings
    assert met.signature.message == "an easier one" and met.made_up is None
    assert runner.judge(runner.written[met.source]) == failure("an easier one")


def test_a_graph_that_never_fails_as_a_whole_is_searched_kind_by_kind():
    def judge(graph):
        return failure("the planted failure") if names(graph) == ["n60"] else None

    found, _ = reduce(judge, chain(80))
    assert isinstance(found, Reduction) and found.ops == 1


def test_listeners_see_queries_and_what_is_left():
    events: list = []
    reduce(target("torch.lerp"), model(), events=events)
    kinds = [kind for kind, _ in events]
    assert kinds.count("query") >= 3
    reduced = [facts for kind, facts in events if kind == "reduced"]
    assert reduced[-1]["ops"] == 1
    assert "lines" in reduced[-1]


def test_what_is_minimal_is_told_so_where_only_its_neighbour_is_missing(monkeypatch: pytest.MonkeyPatch):
    def out_of_time(*_: object) -> None:
        raise StopReductionError

    monkeypatch.setattr(graph_engine, "nearest_passing", out_of_time)
    found, _ = reduce(contains(3), chain(5))
    assert isinstance(found, Reduction) and (found.minimal, found.complete) == (True, False)
    made = as_it_is(found, Verification(runs=3, verified_runs=3))
    assert made.minimal and not any("cut short" in note for note in made.notes)
    half = as_it_is(replace(found, minimal=False), Verification(runs=3, verified_runs=3))
    assert any("cut short" in note for note in half.notes)


def test_the_printed_text_is_the_reported_text():
    graph = case([tensor("x", 8, 64)], [op("y", "torch.lerp", "%x", "%x", 0.5, out=meta(8, 64))], "y")

    runner = Written(target("torch.lerp"), graph, "torch.lerp")
    found = NativeEngine().reduce(problem(graph), runner.resources())
    assert isinstance(found, Reduction)
    assert found.source in runner.asked
    assert "seen on torch 2.13.0" in found.source
    assert "TORCH_COMPILE_BACKEND" in found.source
