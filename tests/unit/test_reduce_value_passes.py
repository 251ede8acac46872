"""Shrinking passes over the values of inputs: what fills them, tables that are written out, numbers in the graph."""

import pytest
from pass_helpers import after, one, slots
from reduce_cases import case, input_names, meta, op, r, tensor

from triage.model.graphcase import GraphInput
from triage.reduce.graph.cropping import cropped
from triage.reduce.graph.passes import fills, numbers, tables
from triage.reduce.graph.passes.extents import Resize
from triage.reduce.graph.passes.ranks import DropLeading
from triage.reduce.graph.weight import weight


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
