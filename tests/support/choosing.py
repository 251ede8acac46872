"""What the tests of choosing a reproducer share: engines that find something, what fresh processes show, what is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.reduce.choose import Attempt, Unreduced, choose
from triage.reduce.interface import Problem, Reduction
from triage.reduce.verifying import Reproduced, Verifier
from triage.trial.interface import Resources

BOOM = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("KeyError", "boom"))
SIGNATURE = signature_of(BOOM)
assert SIGNATURE is not None
ORACLE = SignatureOracle(SIGNATURE)


class Left:
    """A budget with, or without, time left."""

    def __init__(self, spent: bool) -> None:
        self._spent = spent

    def spent(self) -> bool:
        return self._spent

    def left(self) -> float:
        return 0.0 if self._spent else float("inf")


class Finds:
    name = "native"
    subject = "the captured graph"

    def reduce(self, *_: Any) -> Reduction:
        return Reduction("raise KeyError('boom')\n", "native", "source", None, 3, 1.0, True, True)


class FindsLarger(Finds):
    def reduce(self, *_: Any) -> Reduction:
        small = replace(super().reduce(), source="small\n")
        return replace(small, larger=(replace(small, source="large\n", minimal=False),))


def chosen(
    problem: Problem,
    attempts: Sequence[Any],
    verify: Verifier,
    *,
    oracle: SignatureOracle = ORACLE,
    runner: Any = None,
    spent: bool = False,
    script: str | None = None,
    emit: Callable[..., None] = lambda *_, **__: None,
    news: Callable[..., None] = lambda reduction: None,
) -> tuple[Reproduced | None, tuple[str, ...]]:
    """What is chosen among attempts, or engines that are judged by the oracle."""
    tried = [each if isinstance(each, Attempt) else Attempt(each, oracle) for each in attempts]
    resources = Resources(runner, oracle, Left(spent=spent), emit)
    return choose(problem, tried, resources, verify, Unreduced(script), news)


FAILS = CandidateResult(BOOM, AgentNotes(), SIGNATURE, compiled=True)
OTHERWISE = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("ValueError", "another"))
OTHER = CandidateResult(OTHERWISE, AgentNotes(), signature_of(OTHERWISE), compiled=True)
PASSES = CandidateResult(Outcome(OutcomeKind.OK, 0.1, 0), AgentNotes(), None, compiled=True)


class Passing:
    """On the passing rung every text ends well that does not fail by itself."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.asked.append((source, rung))
        return FAILS if "by itself" in source else PASSES

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        yield from ((index, self.run(source, rung=rung, timeout=timeout)) for index, source in enumerate(sources))
