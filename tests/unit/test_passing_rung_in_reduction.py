"""A failure that is known by few words: what fails with the passing rung too is another one, and no reduction ends in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reduce_cases import case, meta, op, tensor
from synthetic import FreeRunner, NoLimit

from triage.judge.comparison import ComparisonOracle
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
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
    """`raised`: what fails is an exception, which this is known by."""

    def __init__(self, wanted: Any, raised: FailureSignature | None = None) -> None:
        super().__init__(wanted)
        self.raised = raised

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        graph = self.written[source]
        self.asked.append(graph)
        names = [node.target for node in graph.nodes]
        unguarded = "torch.ceil" in names and "torch.relu" not in names
        wrong = unguarded or ("torch.lerp" in names and rung != "aot_eager")
        outcome = DIFFERS if wrong else Outcome(OutcomeKind.OK, exit_code=0)
        return CandidateResult(outcome, AgentNotes(), self.raised if wrong else None, True)


def operations(passing: str, whole: GraphCase = WHOLE, signature: FailureSignature = SIGNATURE) -> list[str]:
    """What the reduction ends in."""
    wrong = signature.kind is OutcomeKind.WRONG_RESULT
    runner = Runner(lambda graph: None, None if wrong else signature)
    problem = Problem(
        signature, Stage.INDUCTOR, "inductor", "forward", (whole,), Path(), ("aten.ceil",), "2.13.0", passing=passing
    )
    engine = NativeEngine(render=runner.render)
    oracle = ComparisonOracle(signature) if wrong else SignatureOracle(signature)
    found = engine.reduce(problem, Resources(runner, oracle, NoLimit(), lambda kind, **facts: None))
    assert isinstance(found, Reduction)
    return [node.target for node in found.graph.nodes]


def test_no_reduction_ends_in_what_is_wrong_with_the_passing_rung_too() -> None:
    assert operations(passing="aot_eager") == ["torch.lerp"]


@pytest.mark.parametrize(
    ("frame", "ends"),
    [
        # Raised below Inductor as well, of another operation.
        ("torch/autograd/graph.py:_engine_run_backward", ["torch.lerp"]),
        ("torch/_functorch/_aot_autograd/runtime_wrappers.py:backward", ["torch.lerp"]),
        ("", ["torch.lerp"]),
        ("torch/_inductor/ir.py:realize", ["torch.ceil"]),  # what Inductor raises is known by its place
    ],
)
def test_what_others_code_raises_is_asked_for_with_the_passing_rung(frame: str, ends: list[str]) -> None:
    raised = FailureSignature(OutcomeKind.EXCEPTION, "RuntimeError", "changed in place", (frame,) if frame else ())
    assert operations("aot_eager", signature=raised) == ends


@pytest.mark.parametrize("why", ["asking takes a build", "the whole graph is wrong there, too"])
def test_the_passing_rung_is_not_asked_where_it_tells_nothing(why: str) -> None:
    if why == "asking takes a build":
        assert operations(passing="inductor") == ["torch.ceil"]
    else:
        nodes = [op("b", "torch.ceil", "%x", out=M), op("c", "torch.lerp", "%b", out=M)]
        assert operations("aot_eager", case([tensor("x", 4)], nodes, "c")) == ["torch.ceil"]
