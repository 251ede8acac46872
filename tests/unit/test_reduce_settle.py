"""Merging edits, and turning a number down: how many questions that takes, and what is remembered."""

import pytest
from reduce_cases import case, meta, op, tensor
from synthetic import FreeRunner, NoLimit, failure, planted

from triage.judge.oracle import SignatureOracle
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.dials import passing_below, turned
from triage.reduce.graph.passes import fills
from triage.reduce.graph.passes.extents import ExtentDial
from triage.reduce.graph.shrink import settle
from triage.trial.driver import Driver
from triage.trial.interface import Resources


def wide(count, extent=4):
    """An operation on so many random inputs."""
    inputs = [tensor(f"x{k}", extent) for k in range(count)]
    return Candidate(case(inputs, [op("y", "torch.cat", *(f"%x{k}" for k in range(count)), out=meta(4))], "y"))


def driving(predicate, jobs=1):
    runner = FreeRunner(lambda graph: failure("the planted failure") if predicate(graph) else None, jobs)
    quiet = SignatureOracle(planted())
    return Driver(Resources(runner, quiet, NoLimit(), lambda kind, **facts: None), runner.render), runner


def filled(candidate):
    return [item.fill for item in candidate.case.inputs]


def test_edits_that_do_not_matter_are_made_with_one_question():
    driver, runner = driving(lambda graph: True)
    current = wide(8)
    settled = settle(driver, current, list(fills.propose(current.case)))
    assert filled(settled.candidate) == ["ones"] * 8
    assert settled.rejected == ()
    assert len(runner.asked) == 1


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_what_is_needed_is_found_by_halving(jobs):
    driver, runner = driving(lambda graph: graph.inputs[5].fill == "randn", jobs)
    current = wide(16)
    settled = settle(driver, current, list(fills.propose(current.case)))
    assert filled(settled.candidate) == ["ones"] * 5 + ["randn"] + ["ones"] * 10
    assert [choice.slot for choice in settled.rejected] == ["fill x5"]
    assert len(runner.asked) <= 12 + 6 * jobs


def test_a_later_alternative_is_made_and_the_simpler_ones_are_remembered_as_rejected():
    driver, _ = driving(lambda graph: graph.inputs[0].fill in ("randn", "arange"))
    current = wide(1)
    settled = settle(driver, current, list(fills.propose(current.case)))
    assert filled(settled.candidate) == ["arange"]
    (choice,) = settled.rejected
    assert [edit.what for edit in choice.edits] == ["with ones as values", "with zeros as values"]


def extent_of(graph):
    return graph.inputs[0].meta.shape[0]


@pytest.mark.parametrize(("needed", "questions"), [(1, 1), (2, 2), (17, 11), (99, 11), (100, 11)])
def test_a_dial_stops_at_the_least_failing_value(needed, questions):
    driver, runner = driving(lambda graph: extent_of(graph) >= needed)
    current = wide(1, extent=100)
    found = turned(driver, current, ExtentDial(100))
    assert extent_of(found.case) == needed
    assert len(runner.asked) <= questions
    below = passing_below(driver, found, ExtentDial(needed)) if needed > 1 else None
    assert below is None or extent_of(below.case) == needed - 1


def test_a_dial_that_no_script_survives_is_given_up_soon():
    driver, runner = driving(lambda graph: False)
    runner.judge = lambda graph: failure("something else")
    current = wide(1, extent=1000)
    assert turned(driver, current, ExtentDial(1000)) is current
    assert len(runner.asked) <= 12
