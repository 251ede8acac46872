"""The values that the native engine gives a graph: the recorded ones, made-up ones, and what is told of them."""

from dataclasses import replace

import pytest
from native_engine import M, problem, reduce
from reduce_cases import case, meta, op, tensor
from synthetic import failure

from triage.model.stage import OutcomeKind
from triage.reduce.graph import engine
from triage.reduce.graph.engine import told_of_values
from triage.reduce.graph.generated import synthetic_values
from triage.reduce.graph.starts import starts
from triage.reduce.interface import Reduction
from triage.reduce.printing.literals import numbers_in
from triage.reduce.printing.printer import Form


def test_recorded_values_are_used_only_where_synthetic_ones_do_not_fail():
    graph = case(
        [tensor("x", 2, fill="values", data=["inf", 1.0])], [op("y", "torch.remainder", "%x", 2, out=meta(2))], "y"
    )

    def with_values(asked):
        recorded = asked.nodes and asked.inputs[0].fill == "values" and "inf" in numbers_in(asked.inputs[0].data)
        return failure("the planted failure") if recorded else None

    found, runner = reduce(with_values, graph)
    assert isinstance(found, Reduction)
    assert found.graph.inputs[0].fill == "values"
    assert runner.asked[0].inputs[0].fill == "randn"
    assert any("hold 1 value that the script had" in note for note in found.notes)


def test_synthetic_values_stay_in_the_range_of_the_recorded_ones():
    graph = case(
        [
            tensor("i", 3, dtype="int64", fill="values", data=[3, 5, 4]),
            tensor("m", 2, dtype="bool", fill="values", data=[True, True]),
            tensor("c", 2, fill="values", data=[1.0, 2.0], role="constant"),
        ],
        [op("y", "torch.relu", "%c", out=meta(2))],
        "y",
    )
    assert [item.fill for item in synthetic_values(graph).inputs] == ["randint:3:6", "randint:0:2", "values"]


def test_a_wrong_result_is_looked_for_with_the_recorded_values_first():
    graph = case([tensor("x", 2, fill="values", data=[1.0, 2.0])], [op("y", "torch.sin", "%x", out=meta(2))], "y")
    ((first, second),) = starts(problem(graph, kind=OutcomeKind.WRONG_RESULT), None)
    assert (first.recorded, second.recorded) == (True, False)
    assert first.candidate.form.check == "values"
    assert starts(problem(graph), Form(check="strides"))[0][0].candidate.form.check == "strides"


def test_what_was_met_on_values_of_the_program_comes_with_made_up_ones_to_try():
    def judge(graph):
        return failure("an easier one") if any(item.fill == "values" for item in graph.inputs) else None

    recorded = replace(tensor("x", 4), fill="values", data=[0.25, "nan", 3.0, 4.0])
    found, runner = reduce(judge, case([recorded], [op("y", "torch.relu", "%x", out=M)], "y"))
    (met,) = found.siblings
    assert met.made_up is not None
    fills = [item.fill for text in met.made_up for item in runner.written[text].inputs]
    assert fills == ["randn", 'full:float("nan")', "ones", "zeros"]


@pytest.mark.parametrize(
    ("fill", "data", "told"),
    [
        ("values", [9.45], "hold 1 value that"),
        ("values", [0.0, 9.45, 0.0], "hold 1 value that"),
        ("values", [2.5, 2.5, 9.45], "hold 2 values that"),
        ("full:9.45", None, "hold 1 value that"),
        ('full:float("nan")', None, ""),
        ("uniform:0.1:2.0", None, ""),
    ],
)
def test_a_reproducer_says_how_many_values_of_the_program_it_holds(fill, data, told):
    item = replace(tensor("x", len(data or [1])), fill=fill, data=data)
    note = told_of_values(case([item], [op("y", "torch.relu", "%x", out=M)], "y"))
    assert told in note if told else note == ""


def test_the_numbers_of_a_large_table_are_counted_once(monkeypatch):
    """Counted for each of 2688 numbers it took half a minute, after the budget had ended."""
    counted = []
    monkeypatch.setattr(engine, "ground", lambda flat: counted.append(flat) or 0.0)
    item = replace(tensor("x", 500), fill="values", data=[0.5 + number for number in range(500)])
    told = told_of_values(case([item], [op("y", "torch.relu", "%x", out=M)], "y"))
    assert "hold 500 values" in told and len(counted) == 1


def test_of_a_table_that_the_failure_needs_the_numbers_that_matter_are_left():
    def judge(graph):
        """A NaN behind a number below -0.5, both in one row: what neither one number everywhere nor random ones have."""
        data = graph.inputs[0].data
        rows = (
            data if isinstance(data, list) and isinstance(data[0], list) else [data] if isinstance(data, list) else []
        )
        fails = any("nan" in row[1:] and isinstance(row[0], float) and row[0] < -0.5 for row in rows)
        return failure("the planted failure") if fails else None

    table = [[round(0.013 * (8 * row + place) - 0.3, 3) for place in range(8)] for row in range(12)]
    table[7][0], table[7][5], table[2][3] = -0.8125, "nan", "nan"
    graph = case(
        [replace(tensor("x", 12, 8), fill="values", data=table)], [op("y", "torch.relu", "%x", out=meta(12, 8))], "y"
    )
    found, runner = reduce(judge, graph)
    assert isinstance(found, Reduction)
    assert found.graph.inputs[0].data == [-0.8, "nan"]
    assert len(runner.asked) < 70
    assert any("hold 2 values that the script had" in note for note in found.notes)
