"""Every shrinking pass: what it proposes, and what the case looks like afterwards."""

from dataclasses import replace
from pathlib import Path

import pytest
from reduce_cases import case, input_names, meta, names, op, r, tensor

from triage.judge.judgement import RefusedError
from triage.model.graphcase import Context, GraphInput, SubGraph
from triage.reduce.graph.cropping import cropped
from triage.reduce.graph.passes import (
    DETAILS,
    SIMPLER,
    STRUCTURE,
    autograd,
    backward,
    bodies,
    carried,
    config,
    devices,
    dtypes,
    elements,
    extents,
    fills,
    inline,
    keywords,
    modes,
    numbers,
    operands,
    outputs,
    preamble,
    ranks,
    scalars,
    storage,
    tables,
    trailing,
)
from triage.reduce.graph.passes.extents import ExtentDial, Resize, restrided
from triage.reduce.graph.passes.ranks import DropLeading
from triage.reduce.graph.weight import weight


def one(*inputs, node=None, **rest):
    """A case of one operation on its inputs."""
    return case(list(inputs), [node or op("y", "torch.relu", "%" + inputs[0].name, out=inputs[0].meta)], "y", **rest)


def slots(choices):
    return [choice.slot for choice in choices]


def after(choices, slot, case_, alternative=0):
    """The case after one alternative of the choice with this slot."""
    choice = next(choice for choice in choices if choice.slot == slot)
    return choice.edits[alternative].apply(case_)


def test_a_forward_failure_needs_no_backward_and_a_backward_one_keeps_it():
    graph = one(tensor("x", 4, requires_grad=True), backward=True)
    assert not after(backward.propose(graph), "backward", graph).backward
    assert list(backward.propose(replace(graph, direction="backward"))) == []


def test_modes_go_back_to_their_defaults():
    state = Context(
        grad_enabled=False, inference_mode=True, autocast=("cpu", "bfloat16"), deterministic=True, dynamic=True,
        fullgraph=True, mode="max-autotune", options={"a": 1, "b": 2},
    )  # fmt: skip
    graph = one(tensor("x", 4, symbols={"0": "s0"}), context=state)
    for choice in list(modes.propose(graph)):
        graph = choice.edits[0].apply(graph)
    assert graph.context == Context()
    assert graph.inputs[0].meta.symbols == {}


def test_config_lines_and_registrations_go_one_by_one():
    graph = one(tensor("x", 4), context=Context(config=("a = 1", "b = 2")), preamble=("import p", "import q"))
    assert after(config.propose(graph), "config a = 1", graph).context.config == ("b = 2",)
    assert after(preamble.propose(graph), "preamble import p", graph).preamble == ("import q",)
    both = [choice.edits[0] for choice in preamble.propose(graph)]
    assert both[1].apply(both[0].apply(graph)).preamble == (), "edits of a list can be merged"


def test_mode_switches_in_the_graph_go_in_pairs():
    nodes = [
        op("off", "torch._C._set_grad_enabled", False),
        op("y", "torch.relu", "%x", out=meta(4)),
        op("on", "torch._C._set_grad_enabled", True),
    ]
    graph = case([tensor("x", 4)], nodes, "y")
    assert names(after(modes.propose(graph), "mode switch off", graph)) == ["y"]


def test_storage_becomes_plain():
    odd = tensor("x", 4, 3, stride=(1, 4), storage_offset=2, base="b")
    graph = case([tensor("b", 20), odd], [op("y", "torch.relu", "%x", out=meta(4, 3))], "y")
    found = graph
    for choice in list(storage.propose(graph)):
        found = choice.edits[0].apply(found)
    item = found.inputs[1]
    assert (item.base, item.meta.stride, item.meta.storage_offset) == (None, (3, 1), 0)


def test_a_view_becomes_a_tensor_of_its_own_or_a_view_of_no_more_than_is_seen():
    view = tensor("x", 4, 6, view_of=meta(72, requires_grad=True))
    graph = one(view)
    (choice,) = storage.propose(graph)
    none, small = (edit.apply(graph) for edit in choice.edits)
    assert none.inputs[0].view_of is None and small.inputs[0].view_of == meta(24, requires_grad=True)
    assert weight(none) < weight(small) < weight(graph)


def test_the_base_of_a_view_follows_its_shape():
    graph = one(tensor("x", 4, 6, view_of=meta(72)))
    assert Resize(((6, 2),)).apply(graph).inputs[0].view_of == meta(8)
    assert DropLeading(frozenset({"x"}), 2).apply(graph).inputs[0].view_of == meta(6)


def test_inputs_need_no_grad_and_no_role():
    graph = one(tensor("x", 4, requires_grad=True, role="parameter"))
    found = after(autograd.propose(graph), "grad x", graph)
    assert not found.inputs[0].meta.requires_grad
    assert found.inputs[0].role == "input"


@pytest.mark.parametrize(
    ("item", "order"),
    [
        (tensor("x", 4), ["ones", "zeros", "arange"]),
        (tensor("x", 4, dtype="int64", fill="randint:0:5"), ["zeros", "ones", "arange"]),
        (tensor("x", 4, dtype="bool", fill="randint:0:2"), ["zeros", "ones"]),
        (
            tensor("x", 4, fill="values", data=[1.0, 2.0, 3.5, "nan"]),
            [
                "ones",
                "zeros",
                "arange",
                'full:float("nan")',
                "full:3.5",
                "randn",
                "linspace:1.0:3.5",
                "uniform:1.0:3.5",
            ],
        ),
        (
            tensor("x", 4, dtype="int64", fill="values", data=[-7, 1, 0, 1]),
            ["zeros", "ones", "arange", "full:-7", "randn", "randint:-7:2"],
        ),
        (tensor("x", 4, fill="ones"), []),
        (tensor("x", 4, fill="full:2.5"), []),
    ],
)
def test_random_values_become_plain_ones(item, order):
    graph = one(item)
    filled = [edit.apply(graph).inputs[0] for choice in fills.propose(graph) for edit in choice.edits]
    assert [found.fill for found in filled] == order
    assert all(found.data is None for found in filled)


def test_of_a_table_few_numbers_are_left_and_those_in_few_digits():
    table = [[0.314159, "nan", 2.0], [-1.5, 0.25, "inf"]]
    graph = one(tensor("x", 2, 3, fill="values", data=table))
    choices = list(tables.propose(graph))
    assert after(choices, "ordinary numbers of x 6", graph).inputs[0].data == [[0.0, "nan", 0.0], [0.0, 0.0, "inf"]]
    assert after(choices, "digits of x 6", graph).inputs[0].data == [[0.3, "nan", 2.0], [-2.0, 0.2, "inf"]]
    assert after(choices, "elements of x 6 1:1:1", graph).inputs[0].data == [[0.314159, 0.0, 2.0], [-1.5, 0.25, "inf"]]
    found = graph
    for choice in choices:
        found = choice.edits[0].apply(found) if choice.slot.startswith("elements") else found
        assert weight(choice.edits[0].apply(graph)) < weight(graph)
    assert (found.inputs[0].fill, found.inputs[0].data) == ("zeros", None)


def test_the_more_elements_a_table_has_the_more_are_changed_at_once():
    flat = [float(number) for number in range(1, 49)]
    wide = list(tables.propose(one(tensor("x", 48, fill="values", data=flat))))
    assert len([choice for choice in wide if choice.slot.startswith("elements")]) == tables.GROUPS
    few = [2.5, *[7.0] * 46, 3.5]
    left = list(tables.propose(one(tensor("x", 48, fill="values", data=few))))
    assert slots(left) == ["digits of x 48", "elements of x 48 0:0:1", "elements of x 48 47:47:1"]
    assert left[1].edits[0].apply(one(tensor("x", 48, fill="values", data=few))).inputs[0].data == [*[7.0] * 47, 3.5]


def test_generated_numbers_are_no_table():
    assert not list(
        tables.propose(one(tensor("x", 4), tensor("w", 2, fill="values", data=[0.5, 2.0], role="constant")))
    )


def test_a_table_is_cut_down_to_where_it_is_odd():
    data = [[1.0, 2.0, 3.0], [4.0, 5.0, "nan"], [7.0, 8.0, 9.0]]
    graph = one(tensor("x", 3, 3, fill="values", data=data))
    assert Resize(((3, 2),)).apply(graph).inputs[0].data == [[5.0, "nan"], [8.0, 9.0]]
    assert DropLeading(frozenset({"x"}), 2).apply(graph).inputs[0].data == [4.0, 5.0, "nan"]
    # Without an odd one what comes first stays; among equal ones another is odd.
    assert cropped([[1.0, 2.0], [3.0, 4.0]], (1, 1)) == [[1.0]]
    assert cropped([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]], (1, 1)) == [[0.5]]
    assert cropped([0.0, 9.45], (1,)) == [9.45] and cropped([0, 2], (1,)) == [0]


def test_all_tables_are_cut_down_at_the_same_places():
    odd = tensor("x", 3, fill="values", data=[1.0, 2.0, "nan"])
    graph = case([odd, tensor("m", 3, fill="values", data=[0.25, 0.5, 0.75])], [op("y", "torch.add", "%x", "%m")], "y")
    assert [item.data for item in Resize(((3, 1),)).apply(graph).inputs] == [["nan"], [0.75]]


def test_numbers_are_written_into_the_graph():
    graph = case(
        [tensor("x", 4), GraphInput("k", kind="int", value=3)], [op("y", "torch.mul", "%x", "%k", out=meta(4))], "y"
    )
    found = after(numbers.propose(graph), "number k", graph)
    assert found.nodes[0].args == [r("x"), 3]
    assert input_names(found) == ["x"]


def test_dtypes_change_together_with_arguments_and_records():
    node = op("y", "torch.sum", "%x", out=meta(dtype="bfloat16"), kwargs={"dtype": {"dtype": "bfloat16"}})
    graph = case([tensor("x", 4, dtype="bfloat16"), tensor("w", 4, dtype="bfloat16")], [node], "y", "w")
    (choice,) = dtypes.propose(graph)
    together = choice.edits[0].apply(graph)
    assert [item.meta.dtype for item in together.inputs] == ["float32", "float32"]
    assert together.nodes[0].kwargs == {"dtype": {"dtype": "float32"}}
    assert together.nodes[0].out == [meta()]
    alone = choice.edits[2].apply(graph)
    assert [item.meta.dtype for item in alone.inputs] == ["bfloat16", "float32"]
    assert list(dtypes.propose(one(tensor("x", 4, dtype="bool")))) == []


def test_a_dtype_changes_alone_only_where_nothing_is_promoted_by_it():
    half = meta(dtype="bfloat16")
    inputs = [tensor(name, 4, dtype="bfloat16") for name in ("x", "w", "b")]
    nodes = [op("y", "torch.sin", "%x", out=half), op("z", "torch.add", "%y", "%w", out=half)]
    (choice,) = dtypes.propose(case(inputs, nodes, "z", "b"))
    alone = [sorted(edit.names) for edit in choice.edits]
    assert alone == [["b", "w", "x"], ["b"]]


def test_extents_change_in_every_input_and_in_the_arguments():
    nodes = [
        op("v", "view", "%x", [2, 6, 4, 8], kind="call_method", out=meta(2, 6, 4, 8)),
        op("y", "torch.matmul", "%v", "%w", out=meta(2, 6, 4, 8)),
    ]
    graph = case(
        [tensor("x", 2, 6, 32), tensor("w", 8, 8), tensor("i", 6, dtype="int64", fill="randint:0:6")], nodes, "y"
    )
    found = Resize(((6, 1),)).apply(graph)
    assert [item.meta.shape for item in found.inputs] == [(2, 1, 32), (8, 8), (1,)]
    assert found.nodes[0].args == [r("x"), [2, 1, 4, 8]]
    assert found.nodes[0].out == [meta(2, 1, 4, 8)]
    assert found.inputs[2].fill == "randint:0:1"


def test_extents_can_keep_their_ratio():
    nodes = [op("v", "view", "%x", [2, 4, 8], kind="call_method", out=meta(2, 4, 8))]
    graph = case([tensor("x", 2, 32)], nodes, "v")
    found = Resize(((8, 1),), multiples=True).apply(graph)
    assert found.inputs[0].meta.shape == (2, 4)
    assert found.nodes[0].args == [r("x"), [2, 4, 1]]


def test_extents_of_tensors_that_operations_make_count_too():
    graph = case([], [op("a", "torch.arange", 16, out=meta(16)), op("y", "torch.relu", "%a", out=meta(16))], "y")
    assert extents.extents(graph) == [16]
    found = Resize(((16, 3),)).apply(graph)
    assert found.nodes[0].args == [3]
    assert found.nodes[1].out == [meta(3)]
    assert list(scalars.propose(graph)) == [], "a size is no scalar"


def test_recorded_values_are_cropped_with_their_tensor():
    graph = one(tensor("x", 2, 3, fill="values", data=[[1, 2, 3], [4, 5, 6]]))
    assert Resize(((3, 2),)).apply(graph).inputs[0].data == [[1, 2], [4, 5]]
    with pytest.raises(RefusedError):
        Resize(((3, 2),)).apply(case([tensor("b", 6), tensor("x", 3, base="b")], [op("y", "f", "%x")], "y"))


@pytest.mark.parametrize(
    ("before", "shape", "strides"),
    [
        (meta(4, 6), (2, 3), (3, 1)),
        (meta(4, 6, stride=(1, 4)), (2, 3), (1, 2)),
        (meta(4, 6, stride=(12, 1)), (2, 3), (6, 1)),
        (meta(4, 6, stride=(0, 1)), (2, 3), (0, 1)),
        (meta(2, 8, 4, 4, stride=(128, 1, 32, 8)), (2, 2, 4, 4), (32, 1, 8, 2)),
        (meta(4, 6), (1, 1), (1, 1)),
    ],
)
def test_strides_keep_their_order_and_their_gaps(before, shape, strides):
    assert restrided(before, shape) == strides


def test_the_dial_of_an_extent_tells_its_boundary():
    assert extents.extents(one(tensor("x", 64, 3, 1))) == [64, 3]
    assert [dial.value for dial in extents.dials(one(tensor("x", 64, 3)))] == [64, 3]
    assert ExtentDial(17).boundary(17, 16) == "It fails with a size of 17 and passes with 16."


def test_ranks_go_down():
    graph = case(
        [tensor("x", 5, 1, 3), tensor("w", 3)],
        [op("y", "view", "%x", [5, 1, 3], kind="call_method", out=meta(5, 1, 3))],
        "y",
        "w",
    )
    choices = list(ranks.propose(graph))
    squeezed, headless = (edit.apply(graph) for edit in choices[0].edits[:2])
    assert [item.meta.shape for item in squeezed.inputs] == [(5, 3), (3,)]
    assert [item.meta.shape for item in headless.inputs] == [(1, 3), (3,)]
    assert headless.nodes[0].args == [r("x"), [1, 3]]
    assert after(choices, "rank w", graph).inputs[1].meta == meta()
    assert list(ranks.propose(one(tensor("x")))) == []


def test_keyword_arguments_go():
    node = op("y", "torch.sum", "%x", out=meta(), kwargs={"dim": 0, "keepdim": True})
    graph = one(tensor("x", 4), node=node)
    assert slots(keywords.propose(graph)) == ["keywords y", "keyword y dim", "keyword y keepdim"]
    assert after(keywords.propose(graph), "keywords y", graph).nodes[0].kwargs == {}
    warned = one(tensor("x", 4), node=op("y", "torch.softmax", "%x", out=meta(4), kwargs={"dim": 0}))
    assert list(keywords.propose(warned)) == []


def test_trailing_arguments_go_with_their_inputs():
    graph = case(
        [tensor("x", 4), tensor("w", 4), tensor("b", 4)],
        [op("y", "torch.conv1d", "%x", "%w", "%b", 2, out=meta(4))],
        "y",
    )
    choice = next(iter(trailing.propose(graph)))
    found = choice.edits[1].apply(graph)
    assert found.nodes[0].args == [r("x"), r("w")]
    assert input_names(found) == ["x", "w"]


def test_scalars_become_1_0_or_2():
    node = op("y", "torch.lerp", "%x", "%x", 0.3, [3, 3], -1, True, out=meta(4))
    graph = one(tensor("x", 4), node=node)
    found = {choice.slot: [edit.new for edit in choice.edits] for choice in scalars.propose(graph)}
    assert found == {"scalar y ('args', 2)": [1.0, 0.0, 2.0], "scalar y ('args', 3)": [[1, 1], [0, 0], [2, 2]]}
    assert after(scalars.propose(graph), "scalar y ('args', 2)", graph).nodes[0].args[2] == 1.0


def test_a_complex_number_becomes_a_plain_one_or_i():
    node = op("y", "torch.lerp", "%x", "%x", {"complex": [0.3, 0.2]}, out=meta(4))
    graph = one(tensor("x", 4), node=node)
    (choice,) = scalars.propose(graph)
    assert [edit.new for edit in choice.edits] == [1.0, {"complex": [0, 1]}]
    assert "instead of (0.3+0.2j) as an argument of lerp" in choice.edits[0].what


def test_sizes_in_views_are_no_scalars():
    node = op("y", "view", "%x", 2, 2, kind="call_method", out=meta(2, 2))
    assert list(scalars.propose(one(tensor("x", 4), node=node))) == []


def test_the_last_outputs_alone_come_first():
    nodes = [op(name, "torch.relu", "%x", out=meta(4)) for name in "abcd"]
    graph = case([tensor("x", 4)], nodes, *"abcd")
    choices = list(outputs.propose(graph))
    assert [names(edit.apply(graph)) for edit in choices[0].edits] == [["d"], ["c"], ["b"]]
    merged = choices[2].edits[0].apply(choices[1].edits[0].apply(graph))
    assert names(merged) == ["c", "d"]
    assert list(outputs.propose(one(tensor("x", 4)))) == []


def conditional():
    body = SubGraph(
        "body",
        ("t", "u"),
        (op("i", "torch.sin", "%t", out=meta(4)), op("j", "torch.add", "%i", "%u", out=meta(4))),
        [r("j")],
    )
    other = SubGraph("other", ("t", "u"), (op("i", "torch.cos", "%t", out=meta(4)),), [r("i")])
    nodes = [
        op("p", "torch.any", "%x", out=meta(dtype="bool")),
        op("c", "torch.ops.higher_order.cond", "%p", {"graph": "body"}, {"graph": "other"}, {"tuple": [r("x"), r("w")]},
           out=[meta(4)]),
        op("first", "operator.getitem", "%c", 0, kind="get_item", out=meta(4)),
        op("y", "torch.relu", "%first", out=meta(4)),
    ]  # fmt: skip
    return case([tensor("x", 4), tensor("w", 4)], nodes, "y", subgraphs=(body, other))


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


def test_the_table_names_each_pass_once_and_says_what_it_does():
    table = [*STRUCTURE, *SIMPLER, *DETAILS]
    assert len({one_.name for one_ in table}) == len(table)
    assert all(one_.description for one_ in table)


def test_passes_are_pure():
    graph = conditional()
    before = repr(graph)
    for one_ in [*STRUCTURE, *SIMPLER, *DETAILS]:
        for choice in one_.choices(graph):
            for edit in choice.edits:
                try:
                    edit.apply(graph)
                except RefusedError:
                    pass
                assert edit.what
    assert repr(graph) == before


def test_each_pass_is_a_row_and_a_file():
    files = {file.stem for file in Path(outputs.__file__).parent.glob("*.py")}
    assert files - {"__init__", "proposal"} == {one_.name for one_ in [*STRUCTURE, *SIMPLER, *DETAILS]}


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


def on_gpu(device="cuda:1"):
    made = op("m", "torch.zeros", 4, kwargs={"device": {"device": device}}, out=meta(4, device=device))
    moved = op("t", "to", r("m"), "cuda", out=meta(4, device=device))
    added = op("y", "torch.add", r("x"), r("t"), out=meta(4, device=device))
    return case(
        [tensor("x", 4, device=device)], [made, moved, added], "y", context=Context(autocast=("cuda", "float16"))
    )


def test_what_lies_on_a_gpu_is_moved_to_the_cpu_or_to_any_gpu():
    for alternative, device in enumerate(("cpu", "cuda")):
        found = after(devices.propose(on_gpu()), "device", on_gpu(), alternative)
        assert found.inputs[0].meta.device == device and found.nodes[0].kwargs == {"device": {"device": device}}
        assert found.nodes[1].args == [r("m"), device] and found.context.autocast == (device, "float16")
        assert {node.out[0].device for node in found.nodes} == {device}
        assert weight(found) < weight(on_gpu())
    assert weight(on_gpu("cpu")) < weight(on_gpu("cuda")) < weight(on_gpu("cuda:0"))


def test_what_names_a_gpu_itself_stays_there_and_the_cpu_is_none():
    graph = case([tensor("x", 4, device="cuda:0")], [op("y", "cuda", r("x"), out=meta(4, device="cuda:0"))], "y")
    assert not list(devices.propose(graph)) and not list(devices.propose(on_gpu("cpu")))
