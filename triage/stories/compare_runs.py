"""`triage compare`: do two runs show one bug, and what differs between them?

The question is that of `judge.likeness`; between two releases of torch, which reword and move what they raise, that of a
bisection. A signature without a line of torch (a crash, a hang, a wrong value) says little: there the operation decides, too.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from triage.bisect.verdict import Face, alike
from triage.judge.likeness import same_failure
from triage.judge.naming import one_line
from triage.model.report import TriageReport
from triage.model.text import clip
from triage.stories.bisect_subject import face_of


class Likeness(enum.Enum):
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Difference:
    """One thing that the two runs do not agree in; a text is empty where that run has nothing to say."""

    what: str
    left: str
    right: str


@dataclass(frozen=True)
class RunComparison:
    likeness: Likeness
    because: str
    differences: tuple[Difference, ...] = ()


def compare(left: TriageReport, right: TriageReport) -> RunComparison:
    """Whether the two reports are about one bug, why we think so, and what differs."""
    likeness, because = _likeness(left, right)
    return RunComparison(likeness, because, tuple(_differences(left, right)))


def _likeness(left: TriageReport, right: TriageReport) -> tuple[Likeness, str]:
    faces = [face_of(report) for report in (left, right)]
    if None in faces:
        both = faces == [None, None]
        return Likeness.UNKNOWN, "Neither run shows a failure." if both else "Only one of the runs shows a failure."
    one, other = (face for face in faces if face is not None)
    said = _same(left, right, one, other)
    if said is None:
        return Likeness.OTHER, "Exception, message or innermost line of torch differ."
    operations = [_operation(report) for report in (left, right)]
    if not one.signature.frames and "" not in operations and len(set(operations)) > 1:
        return Likeness.UNKNOWN, f"They end alike, but {operations[0]} and {operations[1]} are to blame."
    return Likeness.SAME, said


def _same(left: TriageReport, right: TriageReport, one: Face, other: Face) -> str | None:
    """Why these are one failure; None where they are not."""
    fingerprints = {_FACTS["fingerprint"](report) for report in (left, right)}
    if len(fingerprints) == 1 and "" not in fingerprints:
        return f"One fingerprint: {fingerprints.pop()}."
    if same_failure(one.signature, other.signature):
        return "One exception type, message and innermost line of torch."
    note = alike(other, one) if _torch(left) != _torch(right) else None
    return None if note is None else f"One failure, as far as two releases of torch agree: {note or 'same message'}."


def _differences(left: TriageReport, right: TriageReport) -> Sequence[Difference]:
    found = [Difference(name, read(left), read(right)) for name, read in _FACTS.items()]
    names = dict.fromkeys([*left.environment, *right.environment])
    versions = [Difference(name, left.environment.get(name, ""), right.environment.get(name, "")) for name in names]
    return [row for row in (*found, *versions) if row.left != row.right]


def _signature(report: TriageReport) -> str:
    face = face_of(report)
    return one_line(face.signature) if face is not None else ""


def _operation(report: TriageReport) -> str:
    return (report.culprit.op if report.culprit is not None else None) or ""


def _torch(report: TriageReport) -> str:
    return report.environment.get("torch", "")


def _of_signature(name: str) -> Callable[[TriageReport], str]:
    def read(report: TriageReport) -> str:
        value: Any = getattr(report.signature, name) if report.signature is not None else None
        return clip(str(value), 200) if value else ""

    return read


_FACTS: dict[str, Callable[[TriageReport], str]] = {
    "symptom": lambda report: report.verdict.symptom.value,
    "stage": lambda report: report.verdict.stage.value,
    "direction": lambda report: report.verdict.direction or "",
    "failure": _signature,
    "fingerprint": _of_signature("fingerprint"),
    "innermost line of torch": lambda report: (report.signature.frames or ("",))[0] if report.signature else "",
    "line of the program": _of_signature("user_line"),
    "operation": _operation,
    "part of the compiler": lambda report: (report.culprit.subsystem if report.culprit is not None else None) or "",
    "needs": lambda report: "; ".join(row.condition for row in report.conditions),
    "passes with": lambda report: "; ".join([*report.workarounds, *(way.change for way in report.ways_round)]),
    "command": lambda report: " ".join(report.command),
}
