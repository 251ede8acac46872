"""Several values of one call are wrong, and the script's check looks at one: that one is reduced, the others are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor

from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.locate.conclude import Conclusion
from triage.model.accuracy import WrongResult
from triage.model.outcome import AgentNotes, Outcome
from triage.model.rungs import LADDER, UNCOMPILED, Rung
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe
from triage.reduce.wrong_outputs import output_name, returning_only
from triage.stories.accuracy_notes import another_failure
from triage.stories.several_wrong import cut_to_one, shown_alone, told_apart

GRAPH = case(
    [tensor("x", 4)],
    [node("loss", "torch.sin", "%x", out=meta(4)), node("energy", "torch.acosh", "%x", out=meta(4))],
    "%loss",
    "%energy",
)
LOSS = WrongResult("0/0", 1, "output 0", "forward", dtype="float32", compiled_error=7.0)
ENERGY = replace(LOSS, item="output 1")
SIGNATURE = FailureSignature(OutcomeKind.WRONG_RESULT, "AssertionError", "no", "no", (), None, wrong=LOSS.wrongness)
INDUCTOR, BELOW = LADDER[-1], LADDER[-2]


class Runner:
    """On the passing rung these values of a graph are wrong."""

    def __init__(self, *items: str) -> None:
        self.items, self.asked = items, list[str | None]()

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.asked.append(rung)
        wrongs = tuple(replace(LOSS, item=item) for item in self.items)
        return CandidateResult(Outcome(OutcomeKind.OK, 1.0, 0), AgentNotes(compared=1, wrongs=wrongs), None, True)


def concluded(passing: Rung = BELOW) -> Conclusion:
    return Conclusion(
        Stage.INDUCTOR, Symptom.WRONG_RESULT, SIGNATURE, wrong=LOSS, failing=INDUCTOR, passing=passing, settled=True
    )


def findings(*wrongs: WrongResult) -> Any:
    """Of a walk that concludes what its comparison tells first."""
    walk = SimpleNamespace()
    notes = AgentNotes(wrongs=wrongs)
    walk.checked = Probe("c", "inductor", Outcome(OutcomeKind.EXCEPTION), None, notes, Path("x"))
    walk.conclusion = lambda: replace(concluded(), wrong=walk.checked.notes.wrong)
    session = SimpleNamespace(emit=lambda kind, **facts: None)
    return SimpleNamespace(walk=walk, session=session, cases=(GRAPH,), also_wrong=(), graph_answer=None, runner=None)


def test_what_is_wrong_where_the_script_passes_is_another_failure() -> None:
    found, runner = findings(LOSS, ENERGY), Runner("output 0")
    told: Any = told_apart(found, concluded(), runner, 60.0)
    assert told.wrong == ENERGY and found.also_wrong == (LOSS,) and runner.asked == [BELOW.name]
    note = another_failure(found.also_wrong, told.passing)
    assert note is not None and f"so it is with `{BELOW.name}`, where the script passes. Output 0: off by 7" in note
    (met,) = shown_alone(found, SIGNATURE)
    assert "torch.sin" in met.source and "torch.acosh" not in met.source and met.made_up is None
    assert met.signature.fingerprint != SIGNATURE.fingerprint


def test_a_nan_is_looked_for_in_what_eager_gives_alone() -> None:
    found = findings(LOSS, ENERGY)
    for kind, referred in (("values", True), ("nan", False)):
        found.also_wrong = (replace(LOSS, kind=kind),)
        assert (".double()" in shown_alone(found, SIGNATURE)[0].source) is referred


def test_another_wrong_value_comes_with_scripts_that_hold_no_values_of_the_program() -> None:
    recorded = replace(GRAPH.inputs[0], fill="values", data=[0.125, 2.5, 3.75, 4.25])
    found = findings(LOSS, ENERGY)
    found.cases, found.also_wrong = (replace(GRAPH, inputs=(recorded,)),), (LOSS,)
    (met,) = shown_alone(found, SIGNATURE)
    assert "0.125" in met.source and met.made_up
    assert "torch.randn(4)" in met.made_up[0] and not any("0.125" in text for text in met.made_up)


@pytest.mark.parametrize(
    ("items", "wrongs", "passing"),
    [
        ((), (LOSS, ENERGY), BELOW),  # none of them is wrong there
        (("output 0", "output 1"), (LOSS, ENERGY), BELOW),  # all of them are, and nothing else is returned
        (("output 0",), (replace(LOSS, compiled_error=8.0),), BELOW),  # by another amount: the check may allow for that
        (("output 0",), (LOSS, replace(ENERGY, item="gradient of x")), BELOW),
        (("output 0",), (LOSS, ENERGY), UNCOMPILED),  # nothing is compared there
    ],
)
def test_where_that_cannot_be_told_the_likeliest_stays(
    items: tuple[str, ...], wrongs: tuple[WrongResult, ...], passing: Rung
) -> None:
    found = findings(*wrongs)
    assert told_apart(found, concluded(passing), Runner(*items), 60.0).wrong == LOSS
    assert found.walk.checked.notes.wrongs == wrongs
    assert found.also_wrong == () and another_failure((), passing) is None


def test_what_the_script_passes_with_on_the_passing_rung_is_not_what_it_fails_by() -> None:
    found = findings(LOSS)
    told = told_apart(found, concluded(), Runner("output 0"), 60.0)
    assert told.wrong is None and found.also_wrong == (LOSS,)
    (left,) = cut_to_one(found)
    assert [each.name for each in left.nodes] == ["energy"]
    note = another_failure(found.also_wrong, told.passing, only=True)
    assert note.startswith("A value of a compiled graph is wrong, and is another failure")


def test_the_graph_is_cut_to_the_value_that_is_told() -> None:
    first, whole = cut_to_one(findings(ENERGY, LOSS))
    assert whole is GRAPH and [each.name for each in first.nodes] == ["energy"]
    assert cut_to_one(findings(ENERGY)) == (GRAPH,)  # what else it returns is right: a fused kernel may need it


def test_no_graph_is_cut_whose_outputs_cannot_be_told_apart() -> None:
    assert output_name(GRAPH, ENERGY) == "energy"
    for other in (
        replace(GRAPH, level="aten"),
        replace(GRAPH, graph_id="0/1"),
        replace(GRAPH, outputs=(3, *GRAPH.outputs)),
        replace(GRAPH, outputs=GRAPH.outputs[:1]),
    ):
        assert output_name(other, ENERGY) is None and returning_only([other], ENERGY) == ()
    assert returning_only([replace(GRAPH, backward=True)], ENERGY) == ()
