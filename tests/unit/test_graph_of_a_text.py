"""Of which failures of a script the graph that it compiled tells what failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import BOOM, SIGNATURE

from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.model.outcome import AgentNotes
from triage.model.stage import Stage
from triage.reduce.interface import Problem, Reduction
from triage.reduce.verifying import FreshRuns, Reproduced, verified

GRAPH = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")


@pytest.mark.parametrize(
    ("wrapper", "stage", "ops"),
    [
        ("BackendCompilerFailed", Stage.AOT_AUTOGRAD, 1),
        ("BackendCompilerFailed", Stage.DYNAMO, None),
        # After a graph break Dynamo fails on what a compiled graph gave it: another backend below gives it something else.
        ("InternalTorchDynamoError", Stage.AOT_AUTOGRAD, None),
    ],
)
def test_no_graph_is_counted_where_dynamo_fails_while_it_traces(wrapper: str, stage: Stage, ops: int | None) -> None:
    made = shown(wrapper, stage, AgentNotes())
    assert (made.ops, made.seen_graph is not None) == (ops, ops is not None)


@pytest.mark.parametrize(
    ("notes", "ops"),
    [
        (
            AgentNotes(graphs=2, graph_breaks=1),
            None,
        ),  # raised by the program's own code, a hook say: the graph is the last one
        (AgentNotes(graphs=2, graph_breaks=1, graph="1/0"), 1),
        (AgentNotes(graphs=2), 1),
    ],
)
def test_of_several_graphs_only_that_which_failed_is_counted(notes: AgentNotes, ops: int | None) -> None:
    assert shown("BackendCompilerFailed", Stage.AOT_AUTOGRAD, notes).ops == ops


def shown(wrapper: str, stage: Stage, notes: AgentNotes) -> Reproduced:
    assert SIGNATURE is not None
    signature = replace(SIGNATURE, wrapper=wrapper)
    ran = CandidateResult(BOOM, notes, signature, compiled=True, graph=GRAPH)
    text = Reduction("text\n", "text", "source", None, 3, 1.0, True, True)
    problem = Problem(signature, stage, "aot_eager", None, (), Path())
    return verified(text, problem, SignatureOracle(signature), lambda *_: FreshRuns([ran]), lambda *_, **__: None)
