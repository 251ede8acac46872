"""What hangs on memory that nobody wrote is no reproducer, though it fails in the same way."""

from __future__ import annotations

import subprocess
import sys

import pytest

from triage.judge.judgement import CandidateResult
from triage.judge.printed import as_wrong
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.reduce.text.checks.runners import PairedRunner, PrintedRunner
from triage.reduce.text.checks.unwritten import with_varied_memory
from triage.trial.pool import PooledRunner, Query

WRITTEN, LEFT = "x = torch.Tensor(2)\nx.fill_(1)\n", "x = torch.Tensor(2)\n"


def ended(kind: OutcomeKind = OutcomeKind.OK, printed: str = "") -> CandidateResult:
    return CandidateResult(Outcome(kind, 1.0, 0), AgentNotes(), None, True, printed=printed)


FAILS = as_wrong(ended(), "it prints `1` where the uncompiled run prints `2`")


class Fails(PooledRunner):
    """Fails compiled, and with other numbers in memory where nothing writes it; `bears` says whether that is so at all."""

    def __init__(self, bears: bool = True) -> None:
        super().__init__(1)
        self.bears, self.varied = bears, 0

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        if query.rung != "uncompiled":
            return FAILS
        asked = "_triage_vary" in query.source
        self.varied += asked
        written = self.bears and "fill_(1)" in query.source
        return ended(OutcomeKind.WRONG_RESULT if asked and not written else OutcomeKind.OK)


def kinds(runner: Fails, *texts: str) -> list[OutcomeKind]:
    paired = PairedRunner(runner, FAILS.signature)
    return [paired.run(text, rung="eager").outcome.kind for text in texts]


def test_a_candidate_without_the_line_that_filled_it_was_not_run() -> None:
    assert kinds(Fails(), WRITTEN, LEFT) == [OutcomeKind.WRONG_RESULT, OutcomeKind.INVALID]


def test_a_program_that_hangs_on_it_itself_may_be_reduced() -> None:
    runner = Fails(bears=False)
    assert kinds(runner, WRITTEN, LEFT) == [OutcomeKind.WRONG_RESULT] * 2
    assert runner.varied == 1


def test_who_asks_for_no_such_memory_is_not_asked() -> None:
    runner = Fails()
    assert kinds(runner, "x = torch.ones(2)\n") == [OutcomeKind.WRONG_RESULT]
    assert runner.varied == 0


class Prints(PooledRunner):
    """Prints one thing compiled and another uncompiled, where it is what lies in memory that nothing writes."""

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        if query.rung != "uncompiled":
            return ended(printed="loss 1.13\n")
        moved = "_triage_vary" in query.source and "fill_(1)" not in query.source
        return ended(printed="loss 7.0\n" if moved else "loss 0.25\n")


def test_what_is_printed_of_it_tells_nothing() -> None:
    runner = PrintedRunner(Prints(1))
    found = [runner.run(text, rung="eager").outcome.kind for text in (WRITTEN, LEFT)]
    assert found == [OutcomeKind.WRONG_RESULT, OutcomeKind.OK]


@pytest.mark.parametrize(
    "made", ["torch.Tensor(2)", "torch.empty(2)", "torch.ones(1).new_empty(2)", "torch.Tensor(2).int()"]
)
def test_no_two_tensors_hold_the_same(made: str) -> None:
    text = with_varied_memory(
        f"import torch\na, b = {made}, {made}\nassert (a / a.sum()).tolist() != (b / b.sum()).tolist()\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
