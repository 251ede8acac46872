"""What one run of a script told, as far as it decides what comes next and to which bug it belongs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from triage.judge.naming import one_line
from triage.judge.signature import FailureSignature
from triage.model.report import KnownCause, SubsystemSearch, TriageReport
from triage.model.stage import Stage, Symptom
from triage.model.sweep import Fate
from triage.sweep.outline import Outline

_OPERATION = re.compile(r"\w+\.\w+\.\w+$")


@dataclass(frozen=True)
class Facts:
    """`settled`: the stage is known. `named` is the operation that the error itself names, `op` the one to blame; `applied` the
    part of the compiler, with what it was applied to, without which runs of the reproducer pass.
    """

    fate: Fate
    settled: bool
    stage: str
    symptom: str
    direction: str | None = None
    signature: FailureSignature | None = None
    headline: str = ""
    title: str = ""
    named: str | None = None
    op: str | None = None
    subsystem: str | None = None
    applied: str | None = None
    known_cause: str | None = None
    explanation: str = ""
    cure: str = ""
    own: str | None = None  # the program's own code under the compiler that fails: its role and operator, or line
    verified: bool = False
    reproducer: str | None = None
    lines: int | None = None
    rungs: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    note: str | None = None
    outline: Outline = ()  # of the reproducer, where no operation is to blame

    @property
    def fingerprint(self) -> str | None:
        return self.signature.fingerprint if self.signature is not None else None


@dataclass(frozen=True)
class Answer:
    """How one pass over a job ended. `facts` is None where it left no report; then `error` says why. `seconds` of wall time."""

    code: int | None
    seconds: float
    facts: Facts | None
    error: str | None = None


def facts_of(report: TriageReport, signature: FailureSignature | None, title: str = "") -> Facts:
    """The facts of a run's report, and of the signature that can be made of it."""
    verdict, culprit, made, cause = report.verdict, report.culprit, report.reproducer, _cause(report)
    own = report.own_code
    settled = verdict.symptom is Symptom.NONE or verdict.stage is not Stage.NONE or report.complete
    by_error = culprit is not None and culprit.detail == "named by the error"
    return Facts(
        fate=_fate(report, cause),
        settled=settled,
        stage=verdict.stage.value,
        symptom=verdict.symptom.value,
        direction=verdict.direction,
        signature=signature,
        headline=one_line(signature) if signature is not None else "",
        title=title,
        named=culprit.op if culprit is not None and by_error else None,
        op=culprit.op if culprit is not None else None,
        subsystem=culprit.subsystem if culprit is not None else None,
        applied=_applied(report.subsystem),
        known_cause=cause.id if cause is not None else None,
        explanation=cause.explanation if cause is not None else "",
        cure=cause.cure if cause is not None else "",
        own=f"{own.role} {own.operator or own.line}" if own is not None else None,
        verified=made is not None and made.verified and made.same_signature,
        reproducer=made.path if made is not None else None,
        lines=made.lines if made is not None else None,
        rungs=_rungs(report),
        environment=tuple(
            (name, report.environment[name]) for name in ("torch", "python") if name in report.environment
        ),
        note=report.incomplete_reason if not report.complete else None,
    )


def _applied(search: SubsystemSearch | None) -> str | None:
    """Of an operation only: kernels and patterns have names that many programs share."""
    if search is None or search.what is None or len(search.names) != 1 or not _OPERATION.match(search.what):
        return None
    return f"{search.names[0]} of {search.what}"


def _cause(report: TriageReport) -> KnownCause | None:
    """The known cause; also where a report says it as a finding, with the operator of that program."""
    if report.known_cause is not None:
        return report.known_cause
    found = next((finding for finding in report.findings if finding.lacks_fake_kernel), None)
    return KnownCause("no_fake_kernel", f"{found.title}.", found.cure, "") if found is not None else None


def _fate(report: TriageReport, cause: KnownCause | None) -> Fate:
    symptom, stage = report.verdict.symptom, report.verdict.stage
    if symptom is Symptom.NONE:
        return Fate.PASSES if report.complete else Fate.UNKNOWN
    if symptom is Symptom.ROUNDING:
        return Fate.ROUNDING
    if stage is Stage.SCRIPT:
        return Fate.SCRIPT
    if cause is not None:
        return Fate.KNOWN
    return Fate.FLAKY if symptom is Symptom.NONDETERMINISTIC else Fate.FAILS


def _rungs(report: TriageReport) -> tuple[tuple[str, str], ...]:
    """What each rung did, the failure where one run of several failed."""
    found: dict[str, str] = {}
    for row in report.ladder:
        if found.get(row.rung, "ok") in ("ok", "not_run"):
            found[row.rung] = row.outcome
    return tuple(found.items())
