"""What answers questions about a reproducer without torch: each text fails or passes, and time is counted in questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


def result(outcome: Outcome) -> CandidateResult:
    return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True, seconds=0.1)


class Runner:
    """Fails where this holds of a rung and a script; `asked` are both. Several answers come in the other order."""

    jobs = 2

    def __init__(self, fails: Callable[[str | None, str], bool]) -> None:
        self.fails, self.asked = fails, list[tuple[str | None, str]]()

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.asked.append((rung, source))
        return result(BOOM if self.fails(rung, source) else PASSED)

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        for index, source in reversed(list(enumerate(sources))):
            yield index, self.run(source, rung=rung, timeout=timeout)


class Budget:
    """Spent after so many questions."""

    def __init__(self, questions: float = float("inf")) -> None:
        self.questions = questions

    def spent(self) -> bool:
        self.questions -= 1
        return self.questions < 0

    def left(self) -> float:
        return 600.0


def inquiry(runner: Any, *, rung: str = "inductor", **others: Any) -> Inquiry:
    """Of a failure that is BOOM, without an end."""
    assert SIGNATURE is not None
    how = {"oracle": SignatureOracle(SIGNATURE), "budget": Budget(), "emit": lambda kind, **facts: None, "seconds": 5.0}
    return Inquiry(rung, runner, **(how | others))
