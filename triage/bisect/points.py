"""What is tested, one point after the other: releases, nightlies, or commits of the user's own repository."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from triage.environments.releases import Release
from triage.model.bisection import Kind
from triage.probe.target import Target


@dataclass(frozen=True)
class Point:
    """One version in question. `release` is None for a commit."""

    name: str
    release: Release | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Ready:
    """A point that can be run: the command for it, and the facts of what it runs in."""

    point: Point
    target: Target
    toolchain: Path | None = None  # the neutral store of its compiler cache
    git_version: str | None = None
    packages: dict[str, str] = field(default_factory=dict)
    extra_env: dict[str, str] = field(default_factory=dict)


class Bench(Protocol):
    """Makes points runnable, from any thread."""

    @property
    def installs(self) -> int:
        """How many environments were made so far."""
        ...

    def ready(self, point: Point) -> Ready:
        """Make it runnable. Raises UntestableError for this point alone, TargetError where none can be."""
        ...

    def quick(self, point: Point) -> bool:
        """Whether `ready` would find it made already."""
        ...

    def done(self, ready: Ready) -> None:
        """What it needed may go when room is wanted."""
        ...

    def stop(self) -> None:
        """End what is being made; `ready` works no more."""
        ...


@dataclass(frozen=True)
class Axis:
    """The points in question, oldest first, and what is looked for along them."""

    points: tuple[Point, ...]
    kind: Kind
    unit: str  # release | nightly | commit
    notes: tuple[str, ...] = ()
    unlisted: tuple[Release, ...] = ()  # what the index has besides, where exactly these points were asked for

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(point.name for point in self.points)

    def from_bad_end(self) -> tuple[Point, ...]:
        """The points as the search counts them: the bad end first."""
        return self.points if self.kind is Kind.FIXED else self.points[::-1]
