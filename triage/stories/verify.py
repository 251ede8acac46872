"""`triage verify`: run a reproducer again in fresh processes, and compare with what it was made for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from triage.errors import TargetError, UsageError, why
from triage.judge.comparison import is_own_comparison
from triage.judge.judgement import CandidateResult
from triage.judge.naming import in_short
from triage.judge.printed import judged_beside
from triage.judge.signature import FailureSignature
from triage.locate.doors import door_of
from triage.model import accuracy
from triage.model.report import TriageReport
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.target import Target, check_syntax, find_python
from triage.report.store import load_report
from triage.session.session import neutral_store
from triage.trial.fresh import Fresh, verify

# Where a run of `trial/fresh.py` begins.
_IN_A_FOLDER_OF_OURS = re.compile(r"[^\s'\"(]*\btriage-\w+[/\\]\d+[/\\]cwd[/\\]")

_BY_ITSELF = (
    "It fails so without torch.compile as well. A reproducer is run in an empty directory, without arguments: "
    "what needs more than that is for `triage run`."
)


@dataclass(frozen=True)
class VerifyResult:
    """`same`: every run failed, with one signature, and with that of the report where there is one."""

    same: bool
    lines: tuple[str, ...]


def verify_again(what: Path, python: str | None, runs: int, timeout: float) -> VerifyResult:
    """Run the reproducer of a run directory, or a script. Raises UsageError where there is none."""
    interpreter = find_python(python)
    source, report = _find(what)
    if report is None:
        check_syntax(Target(interpreter, (interpreter, str(what)), Path.cwd(), script=what))
    wanted = report.signature.fingerprint if report is not None and report.signature is not None else None
    ask = partial(verify, source, interpreter, Fresh(timeout, neutral_store()))
    results = ask(runs=runs)
    if report is not None and _may_only_print(report, results):
        results = judged_beside(results, *ask(runs=1, rung=UNCOMPILED.name))
    for result in results:
        _check_usable(result, interpreter)
    lines = [f"run {number}: {_describe(result)}" for number, result in enumerate(results, 1)]
    prints = {result.signature.fingerprint if result.signature else None for result in results}
    failed = None not in prints
    agree = len(prints) == 1
    if report is not None and failed and agree and _compares_itself(report, results):
        return VerifyResult(True, (*lines, "The same failure in every run: compiled and eager differ."))
    same = failed and agree and (wanted is None or wanted in prints)
    if report is None and same and _fails_by_itself(results[0], ask):
        return VerifyResult(False, (*lines, _BY_ITSELF))
    return VerifyResult(same, (*lines, _verdict(failed, agree, same, wanted, wanted in prints)))


def _fails_by_itself(result: CandidateResult, ask: Callable[..., list[CandidateResult]]) -> bool:
    """Whether a script fails so uncompiled, too; what another door of the compiler fails in says nothing of that."""
    if result.signature is None or door_of(result.outcome, result.signature) is not None:
        return False
    (plain,) = ask(runs=1, rung=UNCOMPILED.name)
    return plain.signature is not None and plain.signature.fingerprint == result.signature.fingerprint


def _may_only_print(report: TriageReport, results: Sequence[CandidateResult]) -> bool:
    """Whether what these runs print may be all that is wrong."""
    wrong = report.verdict.symptom is Symptom.WRONG_RESULT and report.verdict.stage is Stage.DYNAMO
    return wrong and all(result.outcome.kind is OutcomeKind.OK for result in results)


def _compares_itself(report: TriageReport, results: Sequence[CandidateResult]) -> bool:
    """Whether the reproducer of a wrong result fails by its own comparison (or by what it prints), as the report tells."""
    errors = [result.outcome.exception for result in results]
    wrong = report.signature.wrong if report.signature is not None else None
    if report.verdict.symptom is not Symptom.WRONG_RESULT and wrong is None:
        return False
    seen = [result.signature.wrong for result in results if result.signature is not None]
    alike = all(wrong is None or each is None or wrong.same(each) for each in seen)
    return alike and all(
        error is not None and (is_own_comparison(error) or error.phase == accuracy.PRINTED) for error in errors
    )


def _check_usable(result: CandidateResult, python: str) -> None:
    """Raise TargetError where the interpreter, not the script, is what fails: neither passing nor failing would be true."""
    error = result.outcome.exception
    if not result.notes.started:
        raise TargetError(
            what=f"{python} is not a Python interpreter that triage can use.",
            why=result.outcome.detail or f"It ended with status {result.outcome.exit_code} and ran nothing of ours.",
            next="Name another with --python, or leave it out to use the active environment.",
        )
    if result.notes.torch_version is None and error is not None and "No module named 'torch" in error.message:
        raise TargetError(
            what=f"There is no torch in {python}.",
            why=f"{error.type}: {error.message}",
            next="Activate an environment that has it, or name one: triage verify --python ~/venv/bin/python ...",
        )


def _verdict(failed: bool, agree: bool, same: bool, wanted: str | None, reported: bool) -> str:
    if not failed:
        return "The failure is gone: every run passes." if agree else "The failure comes and goes."
    if wanted is not None:
        if same:
            return f"The same failure ({wanted}) in every run."
        return f"It fails, but not {'always ' if reported else ''}as reported ({wanted})."
    return "It fails the same way in every run." if same else "It fails in more than one way."


def _find(what: Path) -> tuple[str, TriageReport | None]:
    """(source, report) for a run directory or a script."""
    if what.is_dir():
        report = load_report(what)
        if report.reproducer is None:
            raise UsageError(
                what=f"The run {what} has no reproducer.",
                why=report.reproducer_note or "None was made.",
                next=f"Run it again: {report.rerun}",
            )
        if report.reproducer.needs:
            raise UsageError(
                what=f"The reproducer of {what} cannot be run by itself.",
                why=f"It reads {', '.join(report.reproducer.needs)} of your program, which is not included.",
                next="Run triage again with --include-data, or run repro.py where that file is.",
            )
        return _read(what / report.reproducer.path), report
    return _read(what), None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            what=f"{path} cannot be read.",
            why=why(error) if isinstance(error, OSError) else "It is not a text in UTF-8.",
            next="Name a run directory (triage list shows them) or a script.",
        ) from error


def _describe(result: CandidateResult) -> str:
    signature: FailureSignature | None = result.signature
    if signature is None:
        passed = result.outcome.kind is OutcomeKind.OK
        return "passes" if passed else f"{result.outcome.kind.value}: {result.outcome.detail}"
    return f"{_IN_A_FOLDER_OF_OURS.sub('', in_short(signature))} [{signature.fingerprint}]"
