"""The tree behind `bisect.json` (schema_version 1): which versions were tested, and where the outcome changes.

Field names are a contract with CI jobs and other tools: fields may be added, never renamed or dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from triage.model.codec import decode, encode

SCHEMA_VERSION = 1


class Standing(str, Enum):
    """What a version is to the question. `SKIP` is neither: it cannot be tested, or something else happens there."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


class Kind(str, Enum):
    """What is looked for: the version that broke it, or the one that fixed it."""

    REGRESSED = "regressed"
    FIXED = "fixed"


@dataclass(frozen=True)
class TestedVersion:
    """One version that was tried. `error` is the failure, or why it was skipped; `seconds` include its installation."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    version: str
    verdict: Standing
    error: str | None = None
    git_version: str | None = None
    seconds: float = 0.0
    runs: int = 0
    failures: int = 0
    note: str | None = None
    packages: dict[str, str] = field(default_factory=dict)  # what else was installed there
    log: str | None = None  # file of the bisection's directory


@dataclass(frozen=True)
class SkippedVersion:
    """A version that could not answer, and why."""

    version: str
    reason: str


@dataclass(frozen=True)
class Change:
    """A place where the outcome changes; `between` are the versions in the gap that could not answer."""

    kind: Kind
    before: str
    after: str
    between: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    """A commit of the window. `why` says what makes it a suspect."""

    sha: str
    subject: str
    score: float = 0.0
    why: str = ""


@dataclass(frozen=True)
class CommitWindow:
    """The commits of both ends of the window. `commits` come from a local clone, most suspect first."""

    before: str
    after: str
    url: str | None = None
    total: int | None = None
    commits: tuple[Commit, ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class Bisection:
    """The whole answer. The change that was asked for is `before` -> `after`; `changes` are all that were seen."""

    target: str
    kind: Kind
    command: tuple[str, ...]
    before: str | None = None  # last_good, or last_bad where a fix was looked for
    after: str | None = None
    monotone: bool | None = None
    between: tuple[str, ...] = ()  # versions inside the window that could not answer
    skipped: tuple[SkippedVersion, ...] = ()
    tested: tuple[TestedVersion, ...] = ()  # in order of version
    changes: tuple[Change, ...] = ()
    installs: int = 0
    complete: bool = True
    incomplete_reason: str | None = None
    summary: str = ""
    axis: str = "release"  # release | nightly | commit
    versions: tuple[str, ...] = ()  # all that were in question
    flavour: str = ""
    python: str = ""
    platform: str = ""
    failure: str = ""  # the failure that was looked for, on one line
    commits: CommitWindow | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    schema_version: int = SCHEMA_VERSION


def to_json(found: Bisection) -> dict[str, Any]:
    """The tree as `bisect.json` has it: the window under the names that its kind gives it."""
    tree: dict[str, Any] = encode(found)
    before, after = tree.pop("before"), tree.pop("after")
    named = ("last_good", "first_bad") if found.kind is Kind.REGRESSED else ("last_bad", "first_fixed")
    head = {"schema_version": tree.pop("schema_version"), "target": tree.pop("target"), "kind": tree.pop("kind")}
    return {**head, named[0]: before, named[1]: after, **tree}


def from_json(tree: dict[str, Any]) -> Bisection:
    """The inverse of `to_json`. Raises TypeError, ValueError or KeyError where the tree is something else."""
    before = tree.get("last_good", tree.get("last_bad"))
    after = tree.get("first_bad", tree.get("first_fixed"))
    return decode(Bisection, {**tree, "before": before, "after": after})
