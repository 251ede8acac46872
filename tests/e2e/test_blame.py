"""Planted faults are named rightly: the part of Inductor, and which application of it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from blame_programs import (
    CHECK,
    DISPATCHED,
    FAKE,
    FUSION,
    GUARDS,
    HOOKED,
    LOWERING,
    PASS,
    PATTERN,
    SHARING,
    STAND_IN,
    VECTORISATION,
)
from stand_ins import inquiry

from triage.culprit.conditions import of_parts
from triage.culprit.fake_results import FakeWrong, fake_wrong
from triage.culprit.guards import does_not_matter, search_guards
from triage.culprit.inquiry import Inquiry
from triage.culprit.subsystem import Searched, search_parts
from triage.judge.oracle import SignatureOracle
from triage.trial.runner import ForkServerRunner

pytestmark = pytest.mark.e2e
MOST_QUESTIONS = 14


@pytest.fixture(scope="module")
def runner():
    runner = ForkServerRunner(sys.executable)
    yield runner
    runner.close()


def asking_of(source: str, runner: ForkServerRunner, rung: str, **others: Any) -> Inquiry:
    signature = runner.run(source, rung=rung).signature
    assert signature is not None, "the planted fault does not show"
    return inquiry(runner, rung=rung, oracle=SignatureOracle(signature), seconds=120.0, **others)


def searched(program: str, runner: ForkServerRunner, rung: str = "inductor") -> Searched:
    source = program.lstrip() + (CHECK if rung == "inductor" else "")
    told: list[Any] = []
    asking = asking_of(source, runner, rung, emit=lambda kind, **facts: told.append(facts["part"]))
    found = search_parts(source, asking)
    assert found.search.queries == len(told) <= MOST_QUESTIONS
    return found


@pytest.mark.quick
def test_a_match_of_a_pattern_and_the_graph_around_it(runner):
    found = searched(PATTERN, runner)
    assert found.search.names == ("pattern matcher",) and found.search.application == 1
    assert "relu_of_negative" in (found.search.what or "")
    assert "aten.neg" in found.graphs["before.txt"] and "aten.abs" in found.graphs["after.txt"]
    assert [cure.text for cure in found.cures] == ["torch._inductor.config.pattern_matcher = False"]
    # Kernels do not matter to it, so nothing about them was asked.
    rows = {row.subsystem: row for row in found.search.rows}
    assert rows["lowerings"].outcome == "same_failure" and rows["fusion"].outcome == "not_run"


def test_fusion(runner):
    found = searched(FUSION, runner)
    assert found.search.names == ("fusion",) and "cos" in (found.search.what or "")
    assert "torch._inductor.config.max_fusion_size = 1" in [cure.text for cure in found.cures]


def test_vectorisation(runner):
    found = searched(VECTORISATION, runner)
    assert found.search.names == ("vectorisation",) and found.search.application == 1
    assert [cure.text for cure in found.cures] == ["torch._inductor.config.cpp.simdlen = 1"]


def test_a_lowering(runner):
    found = searched(LOWERING, runner)
    assert (found.search.names, found.search.application, found.search.what) == (("lowerings",), 3, "sin")


def test_a_pass(runner):
    found = searched(PASS, runner)
    assert found.search.names == ("post_grad_passes",) and found.search.what == "post_grad_custom_post_pass"
    assert "aten.sin" in found.graphs["before.txt"] and "aten.cos" in found.graphs["after.txt"]
    assert found.search.shown_by.endswith(f"with {found.search.application} it fails")
    assert [cure.name for cure in found.cures] == ["torch._inductor.config.disabled_passes"]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("program", "rung", "names", "cures", "indifferent"),
    [
        (GUARDS, "eager", ("guards",), [], ()),
        (SHARING, "aot_eager", ("guards",), [], ()),
        (HOOKED, "eager", ("guards",), ["torch._dynamo.config.skip_nnmodule_hook_guards"], ()),
        (STAND_IN, "eager", (), [], ("whether a graph of an earlier call is used again",)),
    ],
)
def test_a_graph_that_is_used_where_it_does_not_hold(
    runner: ForkServerRunner,
    program: str,
    rung: str,
    names: tuple[str, ...],
    cures: list[str],
    indifferent: tuple[str, ...],
):
    source = program.lstrip()
    found = search_guards(source, asking_of(source, runner, rung))
    assert found.search.names == names and [cure.name for cure in found.cures] == cures
    assert found.search.queries == (2 if names else 1)  # and the guards that torch leaves out, where one is missing
    assert does_not_matter(found.search) == indifferent
    shown = [condition.condition for condition in of_parts(found.search)]
    assert shown == (["a graph that an earlier call compiled is used again"] if names else [])


@pytest.mark.quick
def test_a_decomposition_that_every_backend_from_aot_eager_on_uses(runner):
    found = searched(DISPATCHED, runner, "aot_eager")
    assert found.search.names == ("py_impl decomposition",) and found.search.application == 2
    assert found.search.what == "aten.softshrink.default"


def test_an_operation_that_gives_fake_tensors_other_strides(runner):
    told = FakeWrong("aten.hypot", "strides", "(2, 1)", "(1, 3)")
    assert fake_wrong(FAKE, asking_of(FAKE, runner, "eager")) == told
