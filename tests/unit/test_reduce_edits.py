"""Slices and structural edits: what is kept, what becomes an input, what is returned, what is refused."""

import pytest
from reduce_cases import case, input_names, meta, names, op, r, returned, tensor

from triage.judge.judgement import RefusedError
from triage.model.graphcase import Context, GraphInput, GraphNode, SubGraph
from triage.reduce.graph.edits import (
    Bypass,
    Cut,
    DropContext,
    DropOutput,
    Keep,
    Merge,
    ReturnNothing,
    ReturnOnly,
    inputs_for_opaque,
)
from triage.reduce.graph.passes import outputs
from triage.reduce.graph.slices import prune
from triage.reduce.graph.wellformed import flaw
from triage.reduce.graph.wiring import Wiring

M = meta(4)


def line():
    """x -> a -> b -> c, c returned."""
    return case(
        [tensor("x", 4)],
        [op("a", "torch.relu", "%x", out=M), op("b", "torch.sin", "%a", out=M), op("c", "torch.cos", "%b", out=M)],
        "c",
    )


def diamond():
    """a feeds b and c, which meet in d."""
    return case(
        [tensor("x", 4)],
        [
            op("a", "torch.relu", "%x", out=M),
            op("b", "torch.sin", "%a", out=M),
            op("c", "torch.cos", "%a", out=M),
            op("d", "torch.add", "%b", "%c", out=M),
        ],
        "d",
    )


def keep(graph, *units):
    return Keep(frozenset(units)).apply(graph)


def test_a_slice_reads_what_it_does_not_compute_from_inputs():
    found = keep(line(), "b")
    assert names(found) == ["b"]
    assert input_names(found) == ["a"]
    assert found.inputs[0].meta == M
    assert returned(found) == ["b"]


def test_a_value_that_only_dropped_operations_read_is_returned():
    assert returned(keep(diamond(), "a", "b")) == ["b"]
    others = frozenset(Wiring(diamond()).units) - {"a", "b"}
    assert returned(Cut(others, escaping=True).apply(diamond())) == ["a", "b"]


def test_returned_values_stay_returned():
    both = case([tensor("x", 4)], line().nodes, "a", "c")
    assert returned(keep(both, "a", "b")) == ["a", "b"]


def test_inputs_that_a_slice_does_not_need_are_gone():
    graph = case(
        [tensor("x", 4), tensor("w", 4)],
        [op("a", "torch.relu", "%x", out=M), op("b", "torch.mul", "%a", "%w", out=M)],
        "b",
    )
    assert input_names(keep(graph, "a")) == ["x"]
    assert input_names(keep(graph, "b")) == ["w", "a"]


def test_nothing_kept_is_refused():
    with pytest.raises(RefusedError, match="no operation"):
        keep(line(), "nowhere")
    with pytest.raises(RefusedError, match="no change"):
        keep(line(), "a", "b", "c")


def test_a_tuple_and_its_elements_are_one_unit():
    graph = case(
        [tensor("x", 4)],
        [
            op("s", "torch.split", "%x", 2, out=[meta(2), meta(2)]),
            op("first", "operator.getitem", "%s", 0, kind="get_item", out=meta(2)),
            op("second", "operator.getitem", "%s", 1, kind="get_item", out=meta(2)),
            op("y", "torch.sin", "%second", out=meta(2)),
        ],
        "y",
    )
    assert Wiring(graph).units == ("s", "y")
    assert names(keep(graph, "s")) == ["s", "second"], "an element nobody reads is left out"
    assert returned(keep(graph, "s")) == ["second"]
    assert input_names(keep(graph, "y")) == ["second"]


def test_indexing_a_tensor_is_an_operation_of_its_own():
    graph = case(
        [tensor("x", 4)], [op("a", "torch.relu", "%x", out=M), op("b", "operator.getitem", "%a", 0, out=meta())], "b"
    )
    assert Wiring(graph).units == ("a", "b")


def test_sizes_at_the_border_become_numbers():
    graph = case(
        [tensor("x", 4, 6)],
        [
            op("n", "size", "%x", 0, kind="call_method"),
            op("m", "operator.mul", "%n", 6),
            op("a", "torch.relu", "%x", out=meta(4, 6)),
            op("v", "view", "%a", "%m", kind="call_method", out=meta(24)),
        ],
        "v",
    )
    found = keep(graph, "v")
    assert found.nodes[0].args == [r("a"), 24]
    assert input_names(found) == ["a"]


def test_a_number_that_cannot_be_known_keeps_its_producer():
    graph = case(
        [tensor("x", 4)],
        [
            op("a", "torch.sum", "%x", out=meta()),
            op("k", "item", "%a", kind="call_method"),
            op("y", "torch.mul", "%x", "%k", out=M),
        ],
        "y",
    )
    found = keep(graph, "y")
    assert names(found) == ["k", "y"]
    assert input_names(found) == ["x", "a"]


def test_a_mutation_reaches_whoever_reads_the_value_later():
    graph = case(
        [tensor("x", 4)],
        [
            op("a", "torch.relu", "%x", out=M),
            op("m", "add_", "%a", 1, kind="call_method", out=M),
            op("y", "torch.sin", "%a", out=M),
        ],
        "y",
    )
    wiring = Wiring(graph)
    assert wiring.parents["y"] == ("m", "a")
    assert set(wiring.distances("y", forward=False)) == {"y", "m", "a"}
    assert ReturnOnly("y").apply(case([tensor("x", 4)], graph.nodes, "y", "a")).nodes == graph.nodes


def test_a_mutation_alone_returns_what_it_changed():
    graph = case(
        [tensor("x", 4)],
        [
            op("a", "torch.relu", "%x", out=M),
            op("m", "operator.setitem", "%a", 0, 1.0),
            op("y", "torch.sin", "%a", out=M),
        ],
        "y",
    )
    assert returned(keep(graph, "m")) == ["a"]


@pytest.mark.parametrize("view", ["unfold", "torch.ops.aten.select.int", "operator.getitem"])
def test_what_is_changed_through_a_view_and_read_later_is_returned(view: str) -> None:
    nodes = [
        op("a", "torch.clone", "%x", out=M),
        op("v", view, "%a", 0, out=M),
        op("w", "torch.relu", "%a", out=M),
        op("m", "add_", "%v", 1, out=M),
        op("b", "torch.sin", "%a", out=M),
        op("c", "torch.add", "%b", "%w", out=M),
    ]
    assert returned(keep(case([tensor("x", 4)], nodes, "c"), "a", "v", "m")) == ["a"]
    nodes[4] = op("b", "torch.sin", "%x", out=M)  # the last to read it does so before the change
    assert returned(keep(case([tensor("x", 4)], nodes, "c"), "a", "v", "m")) == ["m"]


def test_what_is_computed_of_a_changed_value_is_no_view_of_it() -> None:
    nodes = [
        op("a", "torch.clone", "%x", out=M),
        op("v", "torch.relu", "%a", out=M),
        op("m", "add_", "%v", 1, out=M),
        op("b", "torch.add", "%a", "%m", out=M),
    ]
    assert returned(keep(case([tensor("x", 4)], nodes, "b"), "a", "v", "m")) == ["m"]


def test_an_inner_value_that_is_changed_in_place_needs_no_grad():
    wants = meta(4, requires_grad=True)
    nodes = [
        op("a", "torch.relu", "%x", out=wants),
        op("m", "add_", "%a", 1, kind="call_method", out=wants),
        op("y", "torch.sin", "%m", out=wants),
    ]
    found = keep(case([tensor("x", 4, requires_grad=True)], nodes, "y"), "m")
    assert not found.inputs[0].meta.requires_grad


def test_kept_operations_keep_the_contexts_around_them():
    graph = case(
        [tensor("x", 4)],
        [
            op("off", "torch._C._set_grad_enabled", False),
            op("a", "torch.relu", "%x", out=M),
            op("on", "torch._C._set_grad_enabled", True),
            op("cast", "torch.amp.autocast_mode._enter_autocast", "cpu", None, True, None),
            op("b", "torch.mm", "%a", "%a", out=M),
            op("exit", "torch.amp.autocast_mode._exit_autocast", "%cast"),
            op("c", "torch.cos", "%b", out=M),
        ],
        "c",
    )
    assert Wiring(graph).units == ("a", "b", "c")
    assert names(keep(graph, "a")) == ["off", "a", "on"]
    assert names(keep(graph, "b")) == ["cast", "b", "exit"]
    assert names(keep(graph, "c")) == ["c"]
    assert "off" not in names(DropContext("off").apply(graph))
    assert "on" not in names(DropContext("off").apply(graph))
    with pytest.raises(RefusedError):
        DropContext("a").apply(graph)


def test_grad_mode_is_read_against_the_mode_the_graph_runs_under():
    nodes = [
        op("on", "torch._C._set_grad_enabled", True),
        op("a", "torch.relu", "%x", out=M),
        op("off", "torch._C._set_grad_enabled", False),
        op("b", "torch.sin", "%a", out=M),
    ]
    graph = case([tensor("x", 4)], nodes, "b", context=Context(grad_enabled=False))
    assert names(keep(graph, "a")) == ["on", "a", "off"]
    assert names(keep(graph, "b")) == ["b"]


def test_a_state_that_is_set_for_some_operations_stays_with_them_and_goes_as_a_whole():
    def graph(*nodes):
        return case([tensor("x", 4)], list(nodes), "c")

    wide, narrow = {"dtype": "float64"}, {"dtype": "float32"}
    compute = {name: op(name, "torch.relu", of, out=M) for name, of in (("a", "%x"), ("b", "%a"), ("c", "%b"))}
    set_wide = op("wide", "torch.set_default_dtype", wide)
    set_half = op("half", "torch.set_default_dtype", {"dtype": "float16"})
    reset = op("reset", "torch.set_default_dtype", narrow)
    again = op("again", "torch.set_default_dtype", narrow)
    found = graph(set_wide, compute["a"], reset, compute["b"], again, compute["c"])
    assert Wiring(found).units == ("a", "b", "c")
    assert names(keep(found, "a")) == ["wide", "a", "reset"]
    assert names(DropContext("wide").apply(found)) == ["a", "b", "again", "c"]
    nested = graph(set_wide, compute["a"], set_half, compute["b"], reset, compute["c"])
    assert names(DropContext("wide").apply(nested)) == ["a", "b", "c"]
    never_reset = graph(compute["a"], set_wide, compute["b"], compute["c"])
    assert names(keep(never_reset, "a")) == ["a"]
    assert names(keep(never_reset, "b")) == ["wide", "b"]


def test_what_is_cut_becomes_an_input():
    assert input_names(Cut(frozenset({"b"})).apply(line())) == ["x", "b"]
    assert returned(Cut(frozenset({"b"})).apply(line())) == ["c", "a"]


def test_bypass_rewires_to_an_argument_of_the_same_kind():
    assert [node.args for node in Bypass(("b",)).apply(line()).nodes] == [[r("x")], [r("a")]]
    found = Bypass(("a", "b")).apply(line())
    assert names(found) == ["c"]
    assert found.nodes[0].args == [r("x")]


def test_bypass_of_a_returned_value_returns_what_stands_for_it():
    assert returned(Bypass(("c",)).apply(line())) == ["b"]


def test_bypass_counts_through_the_arguments_that_fit():
    second = Bypass(("d",), choice=1).apply(diamond())
    assert returned(second) == ["c", "b"] or returned(second) == ["b", "c"]
    with pytest.raises(RefusedError, match="number 2"):
        Bypass(("d",), choice=2).apply(diamond())


def test_bypass_is_refused_where_nothing_fits():
    graph = case(
        [tensor("x", 4)], [op("a", "torch.sum", "%x", out=meta()), op("b", "torch.sin", "%a", out=meta())], "b"
    )
    with pytest.raises(RefusedError, match="shape and dtype"):
        Bypass(("a",)).apply(graph)


def test_bypassing_a_long_run_is_no_deep_recursion():
    nodes = [op("n0", "torch.relu", "%x", out=M)]
    nodes += [op(f"n{k}", "torch.relu", f"%n{k - 1}", out=M) for k in range(1, 3000)]
    found = Bypass(tuple(f"n{k}" for k in range(1, 2999))).apply(case([tensor("x", 4)], nodes, "n2999"))
    assert names(found) == ["n0", "n2999"]


def test_merge_replaces_an_operation_by_its_twin():
    graph = case(
        [tensor("x", 4), tensor("y", 4)],
        [op("a", "torch.sin", "%x", out=M), op("b", "torch.sin", "%y", out=M), op("c", "torch.add", "%a", "%b", out=M)],
        "c",
    )
    found = Merge("b").apply(graph)
    assert found.nodes[1].args == [r("a"), r("a")]
    assert input_names(found) == ["x"]
    with pytest.raises(RefusedError, match="nothing before"):
        Merge("c").apply(graph)


def test_outputs_are_dropped_with_what_they_alone_need():
    graph = case([tensor("x", 4)], line().nodes, "a", "b", "c")
    assert names(ReturnOnly("b").apply(graph)) == ["a", "b"]
    assert returned(DropOutput("b").apply(graph)) == ["a", "c"]
    with pytest.raises(RefusedError):
        DropOutput("c").apply(line())
    with pytest.raises(RefusedError):
        ReturnOnly("a").apply(line())


def test_where_something_is_changed_nothing_need_be_returned():
    put = op("put", "torch.ops.aten.copy_.default", "%x", "%y")
    graph = case([tensor("x", 4), tensor("y", 4)], [put, op("a", "torch.sin", "%y", out=M)], "a")
    choices = list(outputs.propose(graph))
    assert [choice.edits for choice in choices] == [(ReturnNothing(),)]
    smaller = choices[0].edits[0].apply(graph)
    assert (names(smaller), smaller.outputs) == (["put"], ())
    assert not list(outputs.propose(smaller)) and not list(outputs.propose(line()))
    with pytest.raises(RefusedError):
        ReturnNothing().apply(line())


def test_unused_inputs_go_but_not_the_storage_of_used_ones():
    base, view = tensor("base", 8), tensor("view", 4, base="base")
    graph = case([tensor("x", 4), base, view], [op("a", "torch.relu", "%view", out=M)], "a")
    assert input_names(prune(graph)) == ["base", "view"]


def test_an_opaque_operation_becomes_an_input():
    nodes = [
        op("a", "torch.relu", "%x", out=M),
        GraphNode("o", "call_function", "something", [r("a")], out=[M], opaque="a Triton kernel"),
        op("c", "torch.cos", "%o", out=M),
    ]
    found = inputs_for_opaque(case([tensor("x", 4)], nodes, "c", unprintable=("o: a Triton kernel",)))
    assert names(found) == ["a", "c"]
    assert input_names(found) == ["x", "o"]
    assert found.unprintable == ()


def test_sub_graphs_follow_the_operations_that_hold_them():
    body = SubGraph("body", ("t",), (op("i", "torch.sin", "%t", out=M),), [r("i")])
    graph = case(
        [tensor("x", 4)],
        [
            op("a", "torch.relu", "%x", out=M),
            op("w", "torch.ops.higher_order.wrap", {"graph": "body"}, "%a", out=[M]),
            op("first", "operator.getitem", "%w", 0, out=M),
        ],
        "first",
        subgraphs=(body,),
    )
    assert keep(graph, "w").subgraphs == (body,)
    assert keep(graph, "a").subgraphs == ()


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (case([tensor("x", 4)], [op("a", "torch.relu", "%y", out=M)], "a"), "reads y"),
        (case([tensor("x", 4)], [op("x", "torch.relu", "%x", out=M)], "x"), "two values are called x"),
        (case([tensor("x", 4)], [op("a", "torch.relu", "%x", out=M)]), "nothing is returned"),
        (case([tensor("x", 4)], [], "z"), "z is returned"),
        (case([tensor("x", 4)], [op("a", "f", {"graph": "g"}, out=M)], "a"), "nested graph g"),
        (case([tensor("x", 4)], [op("a", "f", "%x", out=M, opaque="why")], "a"), "why"),
        (case([GraphInput("x")], [], "x"), "nothing is known"),
        (case([GraphInput("x", kind="opaque")], [], "x"), "cannot be written down"),
        (case([tensor("x", 4, base="b")], [], "x"), "view of b"),
        (case([tensor("x", 4)], [op("a", "torch.relu", "%x", out=M)], "a", backward=True), "requires grad"),
    ],
)
def test_flaws_are_told_before_anything_runs(graph, reason):
    assert reason in flaw(graph)


def test_a_sound_case_has_no_flaw():
    assert flaw(line()) == ""
    wants = [tensor("x", 4, requires_grad=True)]
    assert flaw(case(wants, line().nodes, "c", backward=True)) == ""


def test_edits_say_what_they_do():
    edits = [Keep(frozenset({"a"})), Cut(frozenset({"a"})), Bypass(("a",)), Merge("a")]
    edits += [ReturnOnly("a"), DropOutput("a"), DropContext("a")]
    assert all("a" in edit.what for edit in edits)
    assert len({edit.what for edit in edits}) == len(edits) - 1, "Cut and DropContext read alike"
