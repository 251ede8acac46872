"""Shrinking passes: what each proposes, and what the case looks like afterwards (nested graphs, values: files of their own)."""

from dataclasses import replace
from pathlib import Path

import pytest
from pass_helpers import after, conditional, one, slots
from reduce_cases import case, input_names, meta, names, op, r, tensor

from triage.judge.judgement import RefusedError
from triage.model.graphcase import Context
from triage.reduce.graph.passes import (
    DETAILS,
    SIMPLER,
    STRUCTURE,
    autograd,
    backward,
    config,
    defaults,
    devices,
    dtypes,
    extents,
    keywords,
    modes,
    outputs,
    preamble,
    ranks,
    scalars,
    storage,
    trailing,
)
from triage.reduce.graph.passes.extents import ExtentDial, Resize, restrided
from triage.reduce.graph.passes.ranks import DropLeading
from triage.reduce.graph.weight import weight


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


def test_dimensions_become_one_where_none_can_go():
    """A loop is vectorised from so many elements on: 3 times 6 of them are needed, and neither 6 nor 3 is enough."""
    graph = one(tensor("x", 2, 3, fill="values", data=[[1, 2, 3], [4, 5, 6]]))
    flat = next(iter(ranks.propose(graph))).edits[-1].apply(graph)
    assert flat.inputs[0].meta == meta(6) and flat.inputs[0].data == [1, 2, 3, 4, 5, 6]
    assert weight(flat) < weight(graph)
    for kept in (tensor("x", 6), tensor("x", 2, 3, stride=(1, 2)), tensor("x", 2, 3, symbols={"0": "s0"})):
        assert all(isinstance(edit, DropLeading) for edit in next(iter(ranks.propose(one(kept)))).edits), kept


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


def test_arguments_that_are_the_defaults_go_and_what_follows_them_is_named():
    pairs = [{"tuple": [number, number]} for number in (1, 0, 1)]
    node = op("y", "torch.conv2d", "%x", "%w", None, *pairs, 2, out=meta(1, 2, 4, 4))
    graph = case([tensor("x", 1, 2, 4, 4), tensor("w", 2, 1, 1, 1)], [node], "y")
    found = after(defaults.propose(graph), "defaults y", graph)
    assert (found.nodes[0].args, found.nodes[0].kwargs) == ([r("x"), r("w")], {"groups": 2})
    assert weight(found) < weight(graph)
    assert list(defaults.propose(found)) == []
    other = op("y", "torch.ops.mine.conv2d", "%x", "%w", None, *pairs, 2, out=meta(1, 2, 4, 4))
    assert list(defaults.propose(case(graph.inputs, [other], "y"))) == []


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
