"""A conclusion that falls and is come to again: the graph is not reduced a second time, nor where it is another question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triage.judge.signature import FailureSignature
from triage.model.accuracy import Wrongness
from triage.model.stage import OutcomeKind, Stage
from triage.probe.target import Target
from triage.reduce.interface import Problem
from triage.reduce.verifying import VERIFY_RUNS, Reproduced
from triage.stories import given_up
from triage.stories.attempts import CHECK_NOTE
from triage.stories.findings import Findings, GraphAnswer

WRONG = Wrongness("values", "output 0")
GRAPH = "# a comment\nassert same(f(x), torch.compile(f)(x))\n"


def problem(**more: Any) -> Problem:
    signature = FailureSignature(OutcomeKind.WRONG_RESULT, "AssertionError", "wrong", "wrong", (), wrong=WRONG)
    return replace(Problem(signature, Stage.INDUCTOR, "inductor", None, (), Path()), **more)


def findings() -> Findings:
    session: Any = SimpleNamespace(emit=lambda kind, **facts: None)
    walk: Any = SimpleNamespace(on_graph={"inductor": object()})
    found = Findings(session, Target("python", (), Path(), None), (), walk)
    found.graph_answer = GraphAnswer(problem(), GRAPH)
    return found


def reduced(runs: int = VERIFY_RUNS) -> Findings:
    """The graph was reduced, for a check of the script's own; then all that was found is dropped."""
    found = findings()
    found.reproduced = Reproduced(
        "assert f(x)",
        "native",
        "graph",
        1,
        30,
        60.0,
        True,
        True,
        verified_runs=runs,
        runs=runs,
        notes=("one", CHECK_NOTE),
    )
    found.lowered = ("aten.div",)
    given_up.keep(found, problem())
    found.forget()
    return found


def test_what_was_found_of_a_graph_is_taken_up_where_it_is_to_blame_after_all() -> None:
    found = reduced()
    found.graph_answer = GraphAnswer(problem(), GRAPH.replace("a comment", "another"))
    assert given_up.recall(found, problem())
    assert found.reproduced is not None and found.reproduced.source == "assert f(x)"
    assert found.reproduced.notes == ("one",)  # the script's check is no longer what fails
    assert found.lowered == ("aten.div",)


@pytest.mark.parametrize(
    ("asked", "now"),
    [
        (GRAPH + "pass\n", problem()),
        (GRAPH, problem(rung="aot_eager")),
        (GRAPH, problem(passing="eager")),
        (GRAPH, problem(signature=replace(problem().signature, wrong=Wrongness("nan", "output 0")))),
        (None, problem()),
    ],
)
def test_another_question_is_asked(asked: str | None, now: Problem) -> None:
    found = reduced()
    found.graph_answer = None if asked is None else GraphAnswer(problem(), asked)
    assert not given_up.recall(found, now) and found.reproduced is None


def test_a_reproducer_that_was_not_verified_is_looked_for_again() -> None:
    found = reduced(runs=0)
    found.graph_answer = GraphAnswer(problem(), GRAPH)
    assert not given_up.recall(found, problem())
