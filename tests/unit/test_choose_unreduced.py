"""What is shown where the program brings its own backend, and where no engine ends in a reproducer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from choosing import FAILS, ORACLE, PASSES, SIGNATURE, Finds, FindsLarger, Passing, chosen

from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.report import Reproducer
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.choose import Attempt
from triage.reduce.interface import NoReduction, Problem
from triage.reduce.verifying import FreshRuns
from triage.report.wording import reproducer_claim
from triage.trial.facts import not_run

# -- the program's own backend ---------------------------------------------------------------------------------------


def on_its_own(engine: Any, own: dict[str, CandidateResult]) -> Any:
    """What is chosen where every script fails the same way, and ends like this with the program's own backend."""
    problem = Problem(SIGNATURE, Stage.AOT_AUTOGRAD, "aot_eager", None, (), Path(), own_rung="inductor")
    found, _ = chosen(problem, [engine], lambda source, runs: FreshRuns([FAILS] * runs, PASSES, own[source]))
    return found


def test_what_fails_otherwise_with_the_programs_own_backend_gives_way_to_a_larger_one() -> None:
    end = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", "expected size 3==2"))
    other = CandidateResult(end, AgentNotes(), signature_of(end), compiled=True)
    found = on_its_own(FindsLarger(), {"small\n": other, "large\n": FAILS})
    assert (found.source, found.verified, found.doubt) == ("large\n", True, "")
    assert found.notes[0] == (
        "A smaller script may show another failure: with `inductor`, the program's own backend, it fails otherwise where "
        "the program fails the same way."
    )


def test_where_none_fails_with_the_programs_own_backend_the_smallest_is_shown_with_the_doubt() -> None:
    found = on_its_own(FindsLarger(), {"small\n": PASSES, "large\n": PASSES})
    assert (found.source, found.verified) == ("small\n", True)
    words = "with `inductor`, the program's own backend, it passes where the program fails the same way"
    assert found.doubt == words
    report = Reproducer(
        "repro.py", True, 3, True, "source", "native", None, 1, 1, 1.0, False, runs=3, doubt=found.doubt
    )
    assert reproducer_claim(report) == (
        "Fails in 3 of 3 runs, each in a fresh process, **but it may show another failure than the program does:** "
        f"{words}."
    )


def test_a_run_with_the_programs_own_backend_that_was_not_made_says_nothing() -> None:
    found = on_its_own(FindsLarger(), {"small\n": not_run("the budget ended")})
    assert (found.source, found.doubt) == ("small\n", "")


@pytest.mark.parametrize(
    ("fails", "shown", "note"),
    [
        ("torch.relu", "torch.randn(2)", "The captured graph is shown unreduced."),
        ("0.125", "0.125", "The captured graph is shown unreduced, on values that the script had."),
    ],
)
def test_a_graph_that_is_shown_unreduced_holds_values_of_the_program_where_it_needs_them(
    fails: str, shown: str, note: str
) -> None:
    class Nothing(Finds):
        def reduce(self, *_: Any) -> Any:
            return NoReduction("nothing was found")

    recorded = GraphInput("x", meta=TensorMeta((2,), (1,), "float32"), fill="values", data=[0.125, 2.5])
    node = GraphNode("y", "call_function", "torch.relu", [{"ref": "x"}], out=[TensorMeta((2,), (1,), "float32")])
    case = GraphCase("dynamo", (recorded,), (node,), ({"ref": "y"},))
    found, _ = chosen(
        Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (case,), Path(), passing="aot_eager"),
        [Nothing()],
        lambda source, runs: FreshRuns([FAILS if fails in source else PASSES] * runs),
        runner=Passing(),
    )
    assert shown in found.source and found.notes[-1] == note


@pytest.mark.parametrize(
    ("whole", "of_text", "verifications"),
    [(False, False, 4), (True, False, 1), (False, True, 0)],  # the last: none was made of what failed
)
def test_graphs_that_passed_as_they_are_are_not_all_asked_in_fresh_processes(
    whole: bool, of_text: bool, verifications: int
) -> None:
    class Nothing(Finds):
        def reduce(self, *_: Any) -> Any:
            return NoReduction("nothing was found", passes_whole=whole)

    def case(value: float) -> GraphCase:
        given = GraphInput("x", meta=TensorMeta((2,), (1,), "float32"), fill="values", data=[value, 2.5])
        node = GraphNode("y", "call_function", "torch.relu", [{"ref": "x"}], out=[TensorMeta((2,), (1,), "float32")])
        return GraphCase("dynamo", (given,), (node,), ({"ref": "y"},))

    asked: list[str] = []

    def verify(source: str, runs: int) -> FreshRuns:
        asked.append(source)
        return FreshRuns([PASSES] * runs)

    cases = (case(0.125), case(0.25))
    chosen(
        Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, cases, Path(), passing="aot_eager"),
        [Attempt(Nothing(), ORACLE, of_text=of_text)],
        verify,
        runner=Passing(),
    )
    assert len(asked) == verifications
    assert all("0.125" in source for source in asked[-1 if whole else 1 :][:1])
