"""A wrong result is known by few words: what is wrong with the passing rung too is another one, and no reduction ends in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from reduce_cases import case, meta, op, tensor
from synthetic import FreeRunner, NoLimit

from triage.judge.comparison import ComparisonOracle
from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.interface import Problem, Reduction
from triage.trial.interface import Resources

M = meta(4)
DIFFERS = Outcome(
    OutcomeKind.EXCEPTION,
    exit_code=1,
    exception=RaisedException("AssertionError", "no", (Frame("/tmp/c.py", 9, "<module>", "assert same(a, b)"),)),
)
SIGNATURE = FailureSignature(OutcomeKind.WRONG_RESULT, "AssertionError", "no")
# `ceil` is wrong from aot_eager on, but for what `relu` gives it; `lerp` is wrong with Inductor alone.
WHOLE = case(
    [tensor("x", 4)],
    [op("a", "torch.relu", "%x", out=M), op("b", "torch.ceil", "%a", out=M), op("c", "torch.lerp", "%b", out=M)],
    "c",
)


class Runner(FreeRunner):
    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        graph = self.written[source]
        self.asked.append(graph)
        names = [node.target for node in graph.nodes]
        unguarded = "torch.ceil" in names and "torch.relu" not in names
        wrong = unguarded or ("torch.lerp" in names and rung != "aot_eager")
        outcome = DIFFERS if wrong else Outcome(OutcomeKind.OK, exit_code=0)
        return CandidateResult(outcome, AgentNotes(), None, True)


def operations(passing: str, whole: GraphCase = WHOLE) -> list[str]:
    """What the reduction ends in."""
    runner = Runner(lambda graph: None)
    problem = Problem(
        SIGNATURE, Stage.INDUCTOR, "inductor", "forward", (whole,), Path(), ("aten.ceil",), "2.13.0", passing=passing
    )
    engine = NativeEngine(render=runner.render)
    found = engine.reduce(
        problem, Resources(runner, ComparisonOracle(SIGNATURE), NoLimit(), lambda kind, **facts: None)
    )
    assert isinstance(found, Reduction)
    return [node.target for node in found.graph.nodes]


def test_no_reduction_ends_in_what_is_wrong_with_the_passing_rung_too() -> None:
    assert operations(passing="aot_eager") == ["torch.lerp"]


@pytest.mark.parametrize("why", ["asking takes a build", "the whole graph is wrong there, too"])
def test_the_passing_rung_is_not_asked_where_it_tells_nothing(why: str) -> None:
    if why == "asking takes a build":
        assert operations(passing="inductor") == ["torch.ceil"]
    else:
        nodes = [op("b", "torch.ceil", "%x", out=M), op("c", "torch.lerp", "%b", out=M)]
        assert operations("aot_eager", case([tensor("x", 4)], nodes, "c")) == ["torch.ceil"]
