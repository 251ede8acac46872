"""What the engines and the driver ask of whatever runs candidates.

A *candidate* is the text of a Python script: what is tested is, to the letter, what the report prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from triage.judge.asking import Budget
from triage.judge.judgement import CandidateResult, Oracle


class CandidateRunner(Protocol):
    """Runs candidates. `rung` is a backend name put into TORCH_COMPILE_BACKEND; none leaves the script's own default.

    `run_many` yields (index, result) as they finish, with at most `jobs` running at once; closing the iterator early
    cancels what is still running. A candidate that crashes, hangs or eats memory is a result, never an exception.
    """

    jobs: int

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult: ...

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Resources:
    """What candidates are tried with: who runs them, what judges them, until when, and who is told (`emit(kind, **facts)`)."""

    runner: CandidateRunner
    oracle: Oracle
    budget: Budget
    emit: Callable[..., None]
