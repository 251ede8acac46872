"""What autograd keeps is changed in place: eager raises that as well, where a backward pass comes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stand_ins import BOOM, PASSED, Runner, inquiry

from triage.culprit.eager_backward import CHANGED, raised_by_eager_too
from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature, signature_of
from triage.locate.conclude import Conclusion
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.stories.known_cause import cause_of

SOURCE = """\
import torch

def f(h, x, w):
    a = x @ h
    h.copy_(w)
    return a

f(h.clone(), x, w)  # eager works
torch.compile(f, backend="aot_eager")(h, x, w)
"""


def raised(message: str = f"{CHANGED}: [torch.FloatTensor [8, 6]] is at version 1") -> CandidateResult:
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("RuntimeError", message))
    return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)


def signature(result: CandidateResult) -> FailureSignature:
    assert result.signature is not None
    return result.signature


def test_it_is_that_where_the_eager_call_raises_it_in_a_backward_pass() -> None:
    runner = Runner(lambda source, rung: raised() if rung == UNCOMPILED.name else PASSED)
    assert raised_by_eager_too(signature(raised()), SOURCE, inquiry(runner))
    (asked,) = runner.asked
    assert "tree_leaves(f(h.clone(), x, w))" in str(asked) and "torch.compile" not in str(asked)
    told = cause_of(Conclusion(Stage.AOT_AUTOGRAD, Symptom.EXCEPTION), None, (), changed=True)
    assert told is not None and "eager raises the same" in told.explanation


@pytest.mark.parametrize("eager", [PASSED, BOOM])
def test_where_eager_does_not_it_may_be_a_bug(eager: CandidateResult) -> None:
    runner = Runner(lambda source, rung: eager)
    assert not raised_by_eager_too(signature(raised()), SOURCE, inquiry(runner))


def test_of_another_error_nothing_is_asked() -> None:
    runner = Runner(lambda source, rung: raised())
    other = replace(signature(raised()), message="no such kernel")
    assert not raised_by_eager_too(other, SOURCE, inquiry(runner))
    assert not raised_by_eager_too(signature(raised()), "import torch\n", inquiry(runner))
    assert runner.asked == []
