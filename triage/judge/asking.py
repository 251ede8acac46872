"""What a search may ask, and what ends its asking.

Searches propose candidates and are pure; whoever runs and judges them (`triage.trial`) stands behind `Judge`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from triage.judge.judgement import Judgement


class StopReductionError(Exception):
    """The budget is spent."""


class LateError(Exception):
    """The time of one step of a reduction (`Judge.until`) is up; the reduction goes on with the next."""


class Budget(Protocol):
    """Time that may be spent. `left()` is in seconds (infinite where there is no limit)."""

    def left(self) -> float: ...

    def spent(self) -> bool: ...


class Shrinkable(Protocol):
    """What the driver asks of a candidate."""

    def key(self) -> Hashable: ...

    def weight(self) -> tuple[float, ...]: ...


C = TypeVar("C", bound=Shrinkable)


@dataclass(frozen=True)
class FailingCandidate(Generic[C]):
    """A candidate that was judged the same failure, with the very text that was run."""

    candidate: C
    source: str
    weight: tuple[float, ...]


class Judge(Protocol[C]):
    """Answers whether a candidate is the same failure. Every question may raise StopReductionError."""

    @property
    def best(self) -> FailingCandidate[C] | None:
        """The lightest candidate that was judged the same failure."""
        ...

    def begin(self, phase: str) -> None: ...

    def fails(self, candidate: C) -> bool: ...

    def judge(self, candidate: C) -> Judgement: ...

    def first(self, candidates: Iterable[C]) -> C | None: ...

    def ahead(self, candidates: Iterable[C]) -> None: ...

    def remembered(self, candidate: C) -> Judgement | None: ...

    def until(self, end: float) -> AbstractContextManager[None]: ...
