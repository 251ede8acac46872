"""What is bisected: a script with its arguments, or an earlier run, whose reproducer and failure are taken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from triage.bisect.verdict import Face
from triage.environments.files import read_journal
from triage.errors import UsageError
from triage.judge.signature import FailureSignature
from triage.judge.skeleton import skeleton_of
from triage.model.places import line_told
from triage.model.report import TriageReport
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.target import Target, make_target, words_of
from triage.report.store import load_report

_KINDS = {
    Symptom.EXCEPTION: OutcomeKind.EXCEPTION,
    Symptom.NONDETERMINISTIC: OutcomeKind.EXCEPTION,
    Symptom.WRONG_RESULT: OutcomeKind.WRONG_RESULT,
    Symptom.CRASH: OutcomeKind.CRASH,
    Symptom.HANG: OutcomeKind.HANG,
}


@dataclass(frozen=True)
class Subject:
    """`run` is the run directory it was taken from; `wanted` the failure seen there, with torch `known_bad`."""

    words: tuple[str, ...]
    module: str | None
    raw: bool
    cwd: Path
    run: Path | None = None
    report: TriageReport | None = None
    wanted: Face | None = None
    known_bad: str | None = None

    def target(self, python: str, cwd: Path | None = None) -> Target:
        """The command with this interpreter, from `cwd` or a directory that stands for it. Raises UsageError."""
        return make_target(self.words, module=self.module, raw=self.raw, python=python, cwd=cwd or self.cwd)

    @property
    def of_reproducer(self) -> bool:
        """Whether a run's reproducer is bisected, not its script."""
        return self.run is not None and self.cwd == self.run

    @property
    def stage(self) -> str | None:
        return self.report.verdict.stage.value if self.report is not None else None

    @property
    def operator(self) -> str | None:
        return self.report.culprit.op if self.report is not None and self.report.culprit is not None else None


def find_subject(words: tuple[str, ...], module: str | None, raw: bool, cwd: Path) -> Subject:
    """The script, module or command; or the run that the one word names. Raises UsageError."""
    if module is None and not raw and words:
        place = cwd / words[0]
        if place.name == "report.json" and place.is_file():
            place = place.parent
        if place.is_dir() and (place / "report.json").is_file():
            return _of_run(place.resolve(), cwd)
    if not words and module is None:
        raise UsageError(
            what="There is nothing to bisect.",
            why="`triage bisect` needs a script, a run directory, -m MODULE, or a command after --.",
            next="For example: triage bisect train.py --good 2.6.0 --bad 2.9.0",
        )
    return Subject(words, module, raw, cwd)


def _of_run(run: Path, cwd: Path) -> Subject:
    """The reproducer of a run where it fails like the script did, else the script itself."""
    report = load_report(run)
    known_bad = report.environment.get("torch")
    wanted = face_of(report)
    made = report.reproducer
    if made is not None and made.verified and (run / made.path).is_file():
        # A reproducer of a wrong result fails with a comparison of its own, whatever the script raises by it.
        compares = made.case == "graph" and wanted is not None and wanted.signature.wrong is not None
        same = made.same_signature and not compares and report.verdict.symptom is not Symptom.WRONG_RESULT
        kept = Face(wanted.signature) if same and wanted is not None else None
        return Subject((str(run / made.path),), None, False, run, run, report, kept, known_bad)
    words, module, raw = _command(run, report)
    return Subject(words, module, raw, cwd, run, report, wanted, known_bad)


def _command(run: Path, report: TriageReport) -> tuple[tuple[str, ...], str | None, bool]:
    """(words, module, raw) as the run was started: from its journal, as the report's own copy has secrets taken out."""
    kept = next(read_journal(run, "run_started"), {}).get("command")
    module, raw, words = words_of([str(word) for word in kept or report.command])
    if not words and module is None:
        raise UsageError(
            what=f"The run {run} does not say what was run.",
            why="Neither its journal nor its report has a command.",
            next="Name the script itself: triage bisect train.py",
        )
    return tuple(words), module, raw


def face_of(report: TriageReport) -> Face | None:
    """The failure of a report, as far as the report keeps it; None where nothing failed."""
    signature, kind = report.signature, _KINDS.get(report.verdict.symptom)
    if signature is not None and report.given_wrong is not None and report.verdict.symptom is Symptom.ROUNDING:
        kind = OutcomeKind.CRASH if signature.exception_type.startswith("SIG") else OutcomeKind.EXCEPTION
    if signature is None or kind is None:
        return None
    line = line_told(signature.user_line or "")
    return Face(
        FailureSignature(
            kind=kind,
            exception_type=signature.exception_type,
            skeleton=skeleton_of(signature.exception_type, signature.message),
            frames=tuple(signature.frames),
            message=signature.message,
            wrong=signature.wrong,
        ),
        place=f"{line.function}: {line.code}" if line is not None and line.function and line.code else None,
        own_check=not signature.frames,
    )
