"""Two hangs in different parts of the compiler are not one: what is only slow elsewhere fails in no same way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.judge.judgement import CandidateResult
from triage.judge.naming import headline
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.judge.stacks import part_of_hang
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind, Verdict

TORCH = "/v/lib/python3.11/site-packages/torch"
OWN = '  File "/home/me/train.py", line 7 in <module>\n'
POOL = f'Thread 0x02 (most recent call first):\n  File "{TORCH}/_inductor/compile_worker/subproc_pool.py", line 1 in _read\n\n'


def hang(detail: str, *files: str) -> Outcome:
    frames = "".join(f'  File "{TORCH}/{file}", line 5 in f\n' for file in files)
    stacks = f"{POOL}Current thread 0x01 (most recent call first):\n{frames}{OWN}" if files else ""
    return Outcome(OutcomeKind.HANG, 120.0, detail=detail, stacks=stacks, late=True)


LOWERING = hang(
    "inductor compiles forward graph 0/0", "_inductor/ir.py", "_inductor/graph.py", "_functorch/aot_autograd.py"
)
BUILDING = hang("inductor compiles forward graph 0/0", "_inductor/async_compile.py", "_inductor/graph.py")


@pytest.mark.parametrize(
    ("outcome", "part"),
    [
        (LOWERING, "Inductor"),
        (BUILDING, "building kernels"),
        (hang("build of the forward graph 0/0"), "building kernels"),
        (hang("compile graph 0/0", "_functorch/partitioners.py", "_dynamo/symbolic_convert.py"), "AOTAutograd"),
        (hang("compile graph 0/0", "_dynamo/output_graph.py"), ""),
        (hang("lowering of the forward graph 0/0"), ""),
        (hang("run graph 0/0", "_inductor/runtime/x.py"), ""),
    ],
)
def test_the_part_is_told_by_the_stack_or_by_the_agent(outcome: Outcome, part: str) -> None:
    assert part_of_hang(outcome) == part


def verdict(outcome: Outcome, wanted: Outcome, part: str) -> Verdict:
    signature = signature_of(wanted)
    assert signature is not None
    result = CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)
    return SignatureOracle(signature, part=part).judge(result).verdict


def test_a_candidate_that_is_slow_in_another_part_is_not_the_same_hang() -> None:
    slow = hang("build of the forward graph 0/0")
    assert verdict(slow, LOWERING, part_of_hang(LOWERING)) is Verdict.UNRESOLVED
    assert verdict(slow, BUILDING, part_of_hang(BUILDING)) is Verdict.SAME_FAILURE
    assert verdict(slow, LOWERING, "") is Verdict.SAME_FAILURE, "where the part of the first is not known"
    unknown = replace(LOWERING, stacks="")
    assert verdict(unknown, LOWERING, part_of_hang(LOWERING)) is Verdict.SAME_FAILURE, "nothing speaks against it"


def test_a_hang_while_dynamo_traces_is_none_of_what_comes_before_or_after() -> None:
    traces = signature_of(hang("Dynamo traces the program"))
    assert traces is not None and headline(traces.exception_type, traces.message) == "hang while tracing"
    for other in ("no compilation had begun", "compile graph 0/0"):
        assert verdict(hang(other), hang("Dynamo traces the program"), "") is Verdict.UNRESOLVED
