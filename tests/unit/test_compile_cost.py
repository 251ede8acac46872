"""Of a program that compiles for longer than its steps can make good soon."""

from dataclasses import replace

import pytest

from triage.model.explanation import CompileTime, Explanation, GraphTime
from triage.report.compile_cost import cost
from triage.report.explanation import explanation_page

PHASES = {"dynamo": 9.0, "kernel_build": 111.0}
GRAPHS = (GraphTime("0/0", "forward", "net.py", 9, 80.0), GraphTime("1/0", "loss", "net.py", 30, 41.0))


def explained(seconds: float, later: float | None, **more: object) -> Explanation:
    return Explanation(2, (), (), CompileTime(seconds, seconds, PHASES, GRAPHS, later, 50, **more), ("train.py",))


def test_what_dominates_is_named_and_what_is_worth_a_try() -> None:
    said, tries = cost(explained(121.0, 0.0009))
    assert said == (
        "Compiling takes as long as 130,000 of the later calls, most of it for building kernels (92% of it) and for forward "
        "(net.py:9, 80 s)."
    )
    assert "--warm" in tries and "--modes" in tries
    assert said in explanation_page(explained(121.0, 0.0009)).replace("`", "")
    assert "--warm" not in cost(explained(121.0, 0.0009, warm_seconds=3.0))[1]


def test_a_wrapper_of_torch_is_no_place_to_look_at() -> None:
    wrapped = replace(GRAPHS[0], function="inner", file="/opt/torch/_dynamo/external_utils.py")
    found = explained(121.0, 0.0009)
    (said, _) = cost(replace(found, compile=replace(found.compile, by_graph=(wrapped, GRAPHS[1]))))
    assert "kernels" in said and "inner" not in said


@pytest.mark.parametrize(("seconds", "later"), [(121.0, 0.5), (4.0, 0.0009), (121.0, None)])
def test_compiling_that_the_steps_outweigh_or_nobody_waits_for_is_not_told(seconds: float, later: float | None) -> None:
    assert cost(explained(seconds, later)) == []
