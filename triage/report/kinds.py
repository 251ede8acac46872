"""What a report is of, in a word, and whether PyTorch's maintainers would want it."""

from __future__ import annotations

from triage.model.report import TriageReport
from triage.model.stage import Stage, Symptom


def kind_of(report: TriageReport) -> str:
    """`bug` and `flaky` may be the compiler's; the others are not."""
    if report.verdict.symptom is Symptom.NONE:
        return "passes"
    if report.verdict.stage is Stage.SCRIPT:
        return "script"
    if report.verdict.symptom is Symptom.ROUNDING or only_rounds(report):
        return "rounding"
    if report.verdict.compares_random:
        return "random"
    if report.verdict.stage is Stage.NONE and (report.accuracy or {}).get("unsteady"):
        return "unsteady"
    if report.known_cause is not None:
        return "known"
    if report.explanation is not None:
        return "own"
    return "flaky" if report.verdict.symptom is Symptom.NONDETERMINISTIC else "bug"


def is_wanted(report: TriageReport) -> bool:
    """Whether PyTorch's maintainers would want it as an issue."""
    return kind_of(report) in ("bug", "flaky") and not is_of_backend(report)


def only_rounds(report: TriageReport) -> bool:
    """Whether what is raised comes of a value that rounds otherwise than in eager."""
    return report.given_wrong is not None and not report.given_wrong["wrong"]


def is_of_backend(report: TriageReport) -> bool:
    """Whether a backend that is not PyTorch's is to blame: with Inductor it passes."""
    own = report.own_code
    return report.verdict.stage is Stage.BACKEND and own is not None and own.role == "backend"
