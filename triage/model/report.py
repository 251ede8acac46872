"""The tree behind `report.json` (schema_version 1). It is the only source of every rendered report.

Field names are a contract with CI jobs and other tools: fields may be added, never renamed or dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from triage.model.accuracy import Wrongness
from triage.model.own_code import Finding, OperatorCheck, OwnCode
from triage.model.stage import OwnFault, Stage, Symptom

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ReportVerdict:
    symptom: Symptom = Symptom.NONE
    stage: Stage = Stage.NONE
    direction: str | None = None
    summary: str = ""
    runs: int = 0
    failures: int = 0
    door: str | None = None  # torch.export, AOTInductor, torch.jit, ...: what failed in the place of torch.compile
    line: str | None = None  # the line that raised it, "nms.py:9 in lower: ..."
    unsettled: str | None = None  # why the stage is not known though the run came to its end; null where it is
    own_fault: OwnFault | None = None  # of stage `script`: what was shown, so that the program is to blame; else null
    compiled_nothing: bool = False  # no run had compiled anything: of a script that fails at times, none that fails
    compares_random: bool = False  # its check fails uncompiled too, once other random numbers are drawn; stage `none`


@dataclass(frozen=True)
class ReportSignature:
    exception_type: str
    message: str
    frames: tuple[str, ...] = ()
    fingerprint: str = ""
    user_line: str | None = None  # "train.py:31 in forward: y = self.lin(x)"
    library_line: str | None = None  # of an installed package, where that line only led there: "pkg/nn.py:9 in f: y"
    excerpt: str = ""  # the telling part of the error text, bounded
    wrong: Wrongness | None = None  # null unless a wrong result
    hangs_in: str | None = None  # of a hang, torch's innermost function at its end: "torch/fx/graph.py:python_code"
    test: str | None = None  # the failing test of a test runner: "tests/test_model.py::test_step"
    noticed: bool = False  # `user_line` is the program's own check of what compiled code gave it


# Of a rung: nothing is known of what the compiler does there. A run that compiled nothing passed.
SAYS_NOTHING = ("not_run", "invalid", "nothing_compiled")


@dataclass(frozen=True)
class LadderRow:
    """`face` is same, other or null: whether the rung failed with the signature of the report."""

    rung: str
    on: str  # script | graph: what the captured graph does by itself
    outcome: str  # a kind of outcome, or one of SAYS_NOTHING
    seconds: float
    face: str | None = None
    note: str | None = None
    log: str | None = None  # file of the run directory


@dataclass(frozen=True)
class AblationRow:
    setting: str
    outcome: str  # ok | same_failure | other_failure | not_run
    seconds: float = 0.0
    note: str | None = None


@dataclass(frozen=True)
class Condition:
    """What the failure cannot do without: `shown_by` is the run that passed without it."""

    condition: str
    shown_by: str


@dataclass(frozen=True)
class KnownCause:
    """A failure that is no bug of the compiler, by a row of `culprit/known_causes.py`."""

    id: str
    explanation: str
    cure: str
    reference: str | None = None


COMPILES_NOTHING = "nothing is compiled any more"  # the cost of a way round that gives all of compiling up


@dataclass(frozen=True)
class WayRound:
    """A change of the user's own program, applied to a copy of its text; the whole script was run with it and passed."""

    change: str  # what to do, in a sentence
    kind: str  # setting | argument | spelling | call | function | backend: cheapest first
    where: str | None = None  # train.py:31
    patch: str | None = None  # file of the run directory that `git apply` takes
    cost: str | None = None  # what the program loses by it, as measured


@dataclass(frozen=True)
class SubsystemRow:
    """One part of the compiler switched off on the reproducer."""

    subsystem: str
    outcome: str  # ok | same_failure | other_failure | not_run
    seconds: float = 0.0
    note: str | None = None


@dataclass(frozen=True)
class SubsystemSearch:
    """Which part of the failing stage is to blame, found by switching parts off; `names` has two where both are needed."""

    names: tuple[str, ...] = ()
    application: int | None = None  # the guilty application of it, counted from 1: with one less the reproducer passes
    what: str | None = None  # what that application does, as the compiler names it
    shown_by: str = ""
    queries: int = 0
    rows: tuple[SubsystemRow, ...] = ()
    before: str | None = None  # files of the run directory: the graph before and after the guilty pass
    after: str | None = None


@dataclass(frozen=True)
class Culprit:
    op: str | None
    graph: str | None = None
    subsystem: str | None = None
    detail: str | None = None
    module: str | None = None  # of the program's, which does it on its line: "layers.1.ff.1 (ReLU)"
    modules_alike: int = 0  # how many more do the same on that line, of which any may be meant


@dataclass(frozen=True)
class Control:
    """One run of the reproducer with the backend of the rung that passes: its outcome ought to be ok."""

    rung: str
    outcome: str


@dataclass(frozen=True)
class Reproducer:
    path: str
    verified: bool
    verified_runs: int
    same_signature: bool
    case: str  # graph | source
    engine: str  # native | repro_after | none
    ops: int | None
    lines: int
    queries: int
    seconds: float
    minimal: bool
    note: str | None = None
    control: Control | None = None  # null where it was not run
    runs: int = 0  # fresh processes it was run in, of which `verified_runs` failed the same way
    same_text: bool = False  # its error is that of the report to the letter, its numbers and names too
    needs: tuple[str, ...] = ()  # the program's files that it reads and does not hold; it was run with them beside it
    # Of torch, no operations (torch.func.jvp), and of what Dynamo models (numpy.cumsum), of a text in which it fails or is wrong.
    features: tuple[str, ...] = ()
    doubt: str | None = None  # why it may show another failure than the program does: runs of both that differ


@dataclass(frozen=True)
class NearestPassing:
    path: str
    difference: str


@dataclass(frozen=True)
class Sibling:
    fingerprint: str
    message: str
    path: str | None = None


@dataclass(frozen=True)
class Duplicates:
    """Where to look first whether the failure is known: `query` for GitHub's issue search, `url` that asks it."""

    query: str
    url: str


@dataclass(frozen=True)
class RepositoryState:
    """The state of the user's git repository. `remote` has its credentials stripped."""

    commit: str
    branch: str | None = None
    dirty: bool = False
    remote: str | None = None


@dataclass(frozen=True)
class TriageReport:
    tool: dict[str, str]
    command: tuple[str, ...]
    verdict: ReportVerdict
    schema_version: int = SCHEMA_VERSION
    signature: ReportSignature | None = None
    ladder: tuple[LadderRow, ...] = ()
    ablation: tuple[AblationRow, ...] = ()
    culprit: Culprit | None = None
    workarounds: tuple[str, ...] = ()
    ways_round: tuple[WayRound, ...] = ()  # run on the user's own script, cheapest first
    conditions: tuple[Condition, ...] = ()  # all of them are necessary
    indifferent: tuple[str, ...] = ()  # what does not matter, as runs have shown
    known_cause: KnownCause | None = None  # why it is no bug of the compiler; null where it may be one
    subsystem: SubsystemSearch | None = None  # null where it was not searched
    reproducer: Reproducer | None = None
    reproducer_note: str | None = None
    nearest_passing: NearestPassing | None = None
    siblings: tuple[Sibling, ...] = ()
    duplicates: Duplicates | None = None  # null where it is no bug of PyTorch, or nothing in it tells
    raised_in: str | None = None  # torch | user | backend | custom_op: whose the innermost line is
    own_code: OwnCode | None = None  # the program's own line under the compiler that raised it, or passed it on
    findings: tuple[Finding, ...] = ()  # what the program itself can mend
    operator_checks: tuple[OperatorCheck, ...] = ()  # torch.library.opcheck on the failing graph's custom operators
    regression: dict[str, Any] | None = None
    accuracy: dict[str, Any] | None = None  # what comparing graphs with eager showed; null where it was not done
    given_wrong: dict[str, Any] | None = None  # the reproducer's operation whose wrong value what is raised comes of
    fake_wrong: dict[str, Any] | None = None  # the operation whose fake result, not eager's, the failure comes of
    graph_breaks: int = 0
    recompiles: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    collect_env: str = ""  # text of torch.utils.collect_env from the target interpreter
    repository: RepositoryState | None = None
    compile_calls: tuple[dict[str, Any], ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    complete: bool = True
    incomplete_reason: str | None = None
    artifacts: dict[str, str] = field(default_factory=dict)
    rerun: str = ""  # the exact command to run it again
    redacted: dict[str, int] | None = field(default_factory=dict)  # what was taken out, by kind; null with --no-redact
    notes: tuple[str, ...] = ()  # things the reader must know: what was skipped, drifted, stopped early

    @property
    def explanation(self) -> Finding | None:
        """Why it is no bug of PyTorch; None where it may be one."""
        return next((finding for finding in self.findings if finding.explains), None)
