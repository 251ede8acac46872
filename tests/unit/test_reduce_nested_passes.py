"""Passes over nested graphs and lists of tensors: what they propose, and what the case looks like afterwards."""

from dataclasses import replace

import pytest
from pass_helpers import after, conditional, slots
from reduce_cases import case, input_names, meta, names, op, r, tensor

from triage.judge.judgement import RefusedError
from triage.model.graphcase import SubGraph
from triage.reduce.graph.passes import bodies, carried, elements, inline, operands, scalars, trailing
from triage.reduce.graph.weight import weight


def test_a_body_is_written_out_in_place_of_what_held_it():
    graph = conditional()
    (choice,) = inline.propose(graph)
    found = choice.edits[0].apply(graph)
    assert [node.target for node in found.nodes] == ["torch.sin", "torch.add", "torch.relu"]
    assert found.nodes[0].args == [r("x")]
    assert found.nodes[2].args == [r("c_j")]
    assert found.subgraphs == ()


def test_operations_inside_a_body_are_bypassed():
    graph = conditional()
    choices = list(bodies.propose(graph))
    assert slots(choices) == ["inner body j", "inner body i", "inner other i"]
    found = choices[0].edits[0].apply(graph)
    assert [node.name for node in found.subgraphs[0].nodes] == ["i"]
    assert found.subgraphs[0].outputs == [r("i")]


def test_a_body_without_an_operation_still_changes_what_it_is_given():
    inner = (op("i", "torch.sin", "%t", out=meta(4)), op("j", "torch.Tensor.add_", "%u", "%i", out=meta(4)),
             op("k", "torch.cos", "%t", out=meta(4)))  # fmt: skip
    body = SubGraph("body", ("t", "u"), inner, {"tuple": [r("k")]})
    held = op("w", "torch.ops.higher_order.wrap", {"graph": "body"}, "%x", "%y", out=[meta(4)])
    graph = case([tensor("x", 4), tensor("y", 4)], [held], "w", subgraphs=(body,))
    left = {
        choice.slot: [node.name for node in choice.edits[0].apply(graph).subgraphs[0].nodes]
        for choice in bodies.propose(graph)
    }
    assert left == {"inner body k": ["i", "j"], "inner body j": ["k"], "inner body i": ["j", "k"]}


def test_inside_a_body_of_one_element_a_reduction_is_bypassed_whatever_rank_is_recorded():
    body = SubGraph("body", ("t",), (op("i", "torch.mean", "%t", 0, out=meta(1)),), {"tuple": [r("i")]}, (meta(1, 1),))
    held = op("w", "torch.ops.higher_order.wrap", {"graph": "body"}, "%x", out=[meta(1)])
    graph = case([tensor("x")], [held], "w", subgraphs=(body,))
    assert slots(bodies.propose(graph)) == ["inner body i"]
    wider = replace(body, metas=(meta(2, 1),))
    assert not slots(bodies.propose(replace(graph, subgraphs=(wider,))))


def test_a_body_called_with_trailing_operands_is_written_out_too():
    body = SubGraph("body", ("t",), (op("i", "torch.sin", "%t", out=meta(4)),), {"tuple": [r("i")]})
    nodes = [
        op("w", "torch.ops.higher_order.wrap", {"graph": "body"}, "%x", out=[meta(4)]),
        op("y", "operator.getitem", "%w", 0, kind="get_item", out=meta(4)),
    ]
    graph = case([tensor("x", 4)], nodes, "y", subgraphs=(body,))
    found = next(iter(inline.propose(graph))).edits[0].apply(graph)
    assert names(found) == ["w_i"]


def test_a_body_whose_inputs_are_recorded_can_stand_alone():
    graph = conditional()
    recorded = replace(graph.subgraphs[0], metas=(meta(4), meta(2, dtype="int64")))
    found = inline.Lift("body").apply(replace(graph, subgraphs=(recorded, graph.subgraphs[1]), backward=True))
    assert [node.target for node in found.nodes] == ["torch.sin", "torch.add"]
    assert [(item.name, item.meta.dtype) for item in found.inputs] == [("t", "float32"), ("u", "int64")]
    assert not found.backward and found.subgraphs == ()
    with pytest.raises(RefusedError):
        inline.Lift("other").apply(graph)


def test_captured_values_that_no_body_reads_go_with_their_inputs():
    going = SubGraph("going", ("i", "c", "d"), (op("lt", "operator.lt", "%i", 3),), [r("lt")])
    body = SubGraph("body", ("j", "e", "g"), (op("next", "torch.add", "%j", "%g", out=meta(4)),), [r("next")])
    held = {"tuple": [r("w"), r("v")]}
    loop = op(
        "loop", "torch.ops.higher_order.while_loop", {"graph": "going"}, {"graph": "body"}, {"tuple": [r("x")]}, held
    )
    graph = case([tensor(name, 4) for name in "xwv"], [loop], "loop", subgraphs=(going, body))
    (choice,) = operands.propose(graph)
    found = choice.edits[0].apply(graph)
    assert input_names(found) == ["x", "v"]
    assert [one.inputs for one in found.subgraphs] == [("i", "d"), ("j", "g")]
    assert not list(operands.propose(found))


def test_what_a_region_does_not_read_goes_from_each_of_its_calls():
    body = SubGraph("part", ("t", "w", "u"), (op("i", "torch.add", "%t", "%u", out=meta(4)),), {"tuple": [r("i")]},
                    (meta(4), meta(2), meta(4)))  # fmt: skip
    region = "torch.ops.higher_order.invoke_subgraph"
    calls = [
        op("one", region, {"graph": "part"}, "part", "%x", "%w", "%u", out=[meta(4)]),
        op("y", "operator.getitem", "%one", 0, kind="get_item", out=meta(4)),
        op("two", region, {"graph": "part"}, "part", "%y", "%v", "%u", out=[meta(4)]),
    ]
    graph = case([tensor("x", 4), tensor("w", 2), tensor("v", 2), tensor("u", 4)], calls, "two", subgraphs=(body,))
    (choice,) = operands.propose(graph)
    found = choice.edits[0].apply(graph)
    assert input_names(found) == ["x", "u"] and found.nodes[2].args[1:] == ["part", r("y"), r("u")]
    assert (found.subgraphs[0].inputs, found.subgraphs[0].metas) == (("t", "u"), (meta(4), meta(4)))
    assert not list(operands.propose(found))
    kept = op("z", "torch.ops.higher_order.wrap", {"graph": "part"}, "%x", "%w", "%u", out=[meta(4)])
    assert not list(operands.propose(replace(graph, nodes=(*graph.nodes, kept))))


def test_attention_does_without_its_block_mask_and_all_that_makes_it():
    score = SubGraph("score", ("s", "b", "h", "i", "j"), (op("m", "operator.mul", "%s", 2),), r("m"))
    mask = SubGraph("all", ("b", "h", "i", "j"), (op("n", "torch.ones", {"tuple": []}),), r("n"))
    parts = {"tuple": [4, 4, r("counts"), r("x"), 128, 128, {"graph": "all"}]}
    nothing = {"tuple": []}
    attend = op("y", "torch.ops.higher_order.flex_attention", "%q", "%q", "%q", {"graph": "score"}, parts, 0.5, nothing, nothing,
                {"tuple": [r("x")]}, out=meta(1, 1, 4, 4))  # fmt: skip
    made = op("counts", "torch.ones", [1, 1, 1], out=meta(1, 1, 1))
    graph = case([tensor("q", 1, 1, 4, 4), tensor("x", 4)], [made, attend], "y", subgraphs=(score, mask))
    found = after(operands.propose(graph), "mask of y", graph)
    assert (names(found), input_names(found), [one.name for one in found.subgraphs]) == (["y"], ["q"], ["score"])
    assert not list(operands.propose(found))


def relaxing():
    """`while i < 3: i, c, d = i + 1, relu(w), relu(w) - c`, of which only d is returned."""
    going = SubGraph(
        "going", ("i", "c", "d", "w"), (op("lt", "operator.lt", "%i", 3),), r("lt"), (None, *[meta(4)] * 3)
    )
    nodes = (op("next", "operator.add", "%j", 1), op("a", "torch.relu", "%v", out=meta(4)),
             op("b", "torch.sub", "%a", "%e", out=meta(4)))  # fmt: skip
    handed_on = {"tuple": [r("next"), r("a"), r("b")]}
    body = SubGraph("body", ("j", "e", "g", "v"), nodes, handed_on, (None, *[meta(4)] * 3))
    loop = op("loop", "torch.ops.higher_order.while_loop", {"graph": "going"}, {"graph": "body"},
              {"tuple": [0, r("x"), r("y")]}, {"tuple": [r("z")]}, out=[None, meta(4), meta(4)])  # fmt: skip
    last = op("last", "operator.getitem", "%loop", 2, kind="get_item", out=meta(4))
    return case([tensor(name, 4) for name in "xyz"], [replace(loop, multi=True), last], "last", subgraphs=(going, body))


def test_a_loop_hands_on_fewer_values_and_reads_another_in_their_place():
    graph = relaxing()
    choices = {choice.slot: choice.edits[0] for choice in carried.propose(graph)}
    assert list(choices) == ["input 3 of loop", "input 2 of loop", "input 1 of loop"]
    found = choices["input 1 of loop"].apply(graph)
    loop, last = found.nodes
    assert loop.args[2:] == [{"tuple": [0, r("y")]}, {"tuple": [r("z")]}]
    assert last.args[1] == 1
    assert [one.inputs for one in found.subgraphs] == [("i", "d", "w"), ("j", "g", "v")]
    assert found.subgraphs[1].outputs == {"tuple": [r("next"), r("b")]}
    assert found.subgraphs[1].nodes[-1].args == [r("a"), r("g")]
    with pytest.raises(RefusedError):  # what is returned
        choices["input 2 of loop"].apply(graph)


def test_numbers_in_the_bodies_of_a_loop_are_made_plain_too():
    graph = relaxing()
    assert after(scalars.propose(graph), "scalar lt ('args', 1)", graph).subgraphs[0].nodes[0].args[1] == 1
    assert weight(after(scalars.propose(graph), "scalar lt ('args', 1)", graph)) < weight(graph)


def test_a_loop_needs_all_of_its_arguments():
    assert slots(trailing.propose(relaxing())) == ["arguments b"]


def test_what_a_loop_captures_goes_where_another_value_does():
    graph = relaxing()
    found = next(iter(carried.propose(graph))).edits[0].apply(graph)
    assert found.nodes[0].args[3] == {"tuple": []}
    assert found.subgraphs[1].nodes[1].args == [r("e")]
    assert input_names(found) == ["x", "y"]


def test_of_the_lists_of_an_operation_one_element_is_left_and_then_one_fewer():
    lists = [r("a"), r("b"), r("c")], {"tuple": [r("x"), r("y"), r("z")]}
    added = op("n", "torch._foreach_add", *lists, 2, out=[meta(4)] * 3)
    picks = [op(f"g{place}", "operator.getitem", "%n", place, out=meta(4)) for place in range(3)]
    graph = case([tensor(name, 4) for name in "abcxyz"], [added, *picks], "g1", "g2")
    (choice,) = elements.propose(graph)
    assert [edit.places for edit in choice.edits] == [(0,), (1,), (2,), (1, 2), (0, 2), (0, 1)]
    with pytest.raises(RefusedError):  # somebody reads the others
        choice.edits[1].apply(graph)
    fewer = choice.edits[3].apply(graph)
    assert fewer.nodes[0].args == [[r("b"), r("c")], {"tuple": [r("y"), r("z")]}, 2]
    assert [node.args[1] for node in fewer.nodes[1:]] == [0, 1] and input_names(fewer) == ["b", "c", "y", "z"]


def test_lists_whose_whole_result_is_read_stay_as_they_are():
    node = op("y", "torch.cat", [r("a"), r("b")], out=meta(8))
    assert not list(elements.propose(case([tensor("a", 4), tensor("b", 4)], [node], "y")))


def test_a_graph_that_only_changes_what_it_is_given_is_made_smaller_too():
    node = op("n", "torch._foreach_add_", [r("a"), r("b")], [r("x"), r("y")])
    graph = case([tensor(name, 4) for name in "abxy"], [node])
    (choice,) = elements.propose(graph)
    smaller = choice.edits[1].apply(graph)
    assert smaller.nodes[0].args == [[r("b")], [r("y")]] and input_names(smaller) == ["b", "y"]
