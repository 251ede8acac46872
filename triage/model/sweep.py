"""The tree behind `sweep.json` (schema_version 1): what became of each script, and which failures are one bug."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from triage.model.stage import Stage, Symptom

SCHEMA_VERSION = 1


class Fate(enum.Enum):
    """What became of one script. `known` fails for a cause that is no bug of the compiler."""

    PASSES = "passes"
    FAILS = "fails"
    FLAKY = "flaky"  # fails in some runs, or with some random numbers
    ROUNDING = "rounding"
    KNOWN = "known_cause"
    SCRIPT = "script"  # fails uncompiled too
    UNUSABLE = "unusable"  # could not be run at all: `note` has the words
    UNKNOWN = "unknown"  # was not run to an end

    @property
    def failed(self) -> bool:
        """Whether the compiler may be to blame, so that it belongs to a cluster."""
        return self in (Fate.FAILS, Fate.FLAKY, Fate.KNOWN)

    @property
    def ended_badly(self) -> bool:
        """Whether it was seen to fail, with whomever to blame."""
        return self.failed or self is Fate.SCRIPT


@dataclass(frozen=True)
class ScriptResult:
    """One script. `rungs` is what each rung of its ladder did (ok, exception, crash (SIGSEGV), ...), `seconds` all its runs."""

    script: str  # as it is named in the sweep, relative to where it was started
    fate: Fate
    stage: str = "none"
    symptom: str = "none"
    fingerprint: str | None = None
    op: str | None = None
    headline: str = ""  # the error in one line
    cluster: str | None = None
    directory: str | None = None  # of its run, relative to the sweep
    verified: bool = False  # whether its own run ended in a reproducer that fails the same way each time
    lines: int | None = None  # of that reproducer
    rungs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    inherited: bool = False  # stage and operation are those of its cluster's representative, whose failure it shares
    note: str | None = None


@dataclass(frozen=True)
class Doubt:
    """A member of a cluster that may belong elsewhere, and what speaks against it."""

    script: str
    why: str


@dataclass(frozen=True)
class Cluster:
    """One bug, as far as can be told. `members` are scripts."""

    id: str
    title: str
    stage: str
    symptom: str
    fingerprint: str | None
    op: str | None
    members: tuple[str, ...]
    representative: str | None  # the run directory whose reproducer is the smallest verified one, relative to the sweep
    known_cause: str | None  # id of the row: not a bug of the compiler
    why: str  # why the members belong together
    subsystem: str | None = None
    reproducer: str | None = None  # its file, relative to the sweep; null where none was verified
    lines: int | None = None
    doubtful: tuple[Doubt, ...] = ()
    cure: str | None = None  # of a known cause

    @property
    def located(self) -> bool:
        """Whether the stage is known. Of what fails at times none may be to blame; else nobody has asked yet."""
        return self.stage != Stage.NONE.value or self.symptom == Symptom.NONDETERMINISTIC.value


@dataclass(frozen=True)
class Against:
    """What differs from another sweep, by script. `changed` fails in another way than it did; those of one sweep alone
    are not compared.
    """

    base: str = ""
    new: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()


@dataclass(frozen=True)
class SweepReport:
    scripts: int
    failing: int
    clusters: tuple[Cluster, ...]
    results: tuple[ScriptResult, ...]
    schema_version: int = SCHEMA_VERSION
    against: Against | None = None
    engine: str = "local"
    complete: bool = True
    incomplete_reason: str | None = None
    environment: dict[str, str] = field(default_factory=dict)  # torch, python
    seconds: float = 0.0
    processes: int = 0  # runs of triage that were made for it
    notes: tuple[str, ...] = ()

    @property
    def bugs(self) -> tuple[Cluster, ...]:
        """The clusters that are none of the known causes."""
        return tuple(cluster for cluster in self.clusters if cluster.known_cause is None)
