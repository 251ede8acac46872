"""What stands in for the interpreter that runs candidates, and for the time that they may take. No torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from triage.culprit.inquiry import Inquiry
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind

BOOM = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("KeyError", "boom"))
SIGNATURE = signature_of(BOOM)
PASSED = Outcome(OutcomeKind.OK, 0.1, 0)
LATE = Outcome(OutcomeKind.HANG, 60.2, detail="call")
NOT_KNOWN = "not known: it had not ended after 60 s"


def result(outcome: Outcome, **notes: Any) -> CandidateResult:
    return CandidateResult(outcome, AgentNotes(**notes), signature_of(outcome), compiled=True, seconds=0.1)


def late(*, compiled: bool = True) -> CandidateResult:
    """What was ended at its limit."""
    return CandidateResult(LATE, AgentNotes(), replace(SIGNATURE, kind=OutcomeKind.HANG), compiled, 60.2)


class Runner:
    """`ends` says how a script ends on a rung; `asked` are the scripts, `rungs` theirs. The last of several is answered first."""

    def __init__(self, ends: Callable[[str, str | None], Outcome | CandidateResult], jobs: int = 2) -> None:
        self.ends, self.jobs = ends, jobs
        self.asked: list[str] = []
        self.rungs: list[str | None] = []

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.asked.append(source)
        self.rungs.append(rung)
        ended = self.ends(source, rung)
        return result(ended) if isinstance(ended, Outcome) else ended

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        for index, source in reversed(list(enumerate(sources))):
            yield index, self.run(source, rung=rung, timeout=timeout)


def failing(fails: Callable[[str], bool], failure: Outcome = BOOM) -> Runner:
    """The runner in which scripts of which this holds end in the failure, and all others well."""
    return Runner(lambda source, rung: failure if fails(source) else PASSED)


class Questions:
    """A budget that is spent after so many questions."""

    def __init__(self, left: float = float("inf")) -> None:
        self.questions = left

    def left(self) -> float:
        return float(self.questions)

    def spent(self) -> bool:
        self.questions -= 1
        return self.questions < 0


def inquiry(runner: Any, *, rung: str = "inductor", **others: Any) -> Inquiry:
    """Of a failure that is BOOM, without an end."""
    assert SIGNATURE is not None
    how = {"oracle": SignatureOracle(SIGNATURE), "budget": Questions(), "emit": lambda kind, **facts: None}
    return Inquiry(rung, runner, **(how | {"seconds": 5.0} | others))
