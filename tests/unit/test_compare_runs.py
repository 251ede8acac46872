"""Two runs: one bug, two, or not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from triage.cli import app as cli
from triage.model.report import TriageReport
from triage.model.stage import Symptom
from triage.report.store import load_report
from triage.stories.compare_runs import Likeness, compare

GOLDEN = Path(__file__).parents[1] / "golden"
FIRST = load_report(GOLDEN / "inductor_exception")


def with_signature(report: TriageReport, **changes: Any) -> TriageReport:
    return replace(report, signature=replace(report.signature, **changes))


def crashed(op: str) -> TriageReport:
    verdict = replace(FIRST.verdict, symptom=Symptom.CRASH)
    report = with_signature(FIRST, exception_type="SIGSEGV", message="while compiling", frames=(), fingerprint="f" * 16)
    return replace(report, verdict=verdict, culprit=replace(FIRST.culprit, op=op))


def test_a_run_is_like_itself() -> None:
    found = compare(FIRST, FIRST)
    assert (found.likeness, found.differences) == (Likeness.SAME, ())


def test_one_failure_elsewhere_in_the_program() -> None:
    other = with_signature(FIRST, user_line="other.py:3 in f: y")
    found = compare(FIRST, other)
    assert found.likeness is Likeness.SAME
    assert [row.what for row in found.differences] == ["line of the program"]


def test_without_fingerprints_the_signature_decides() -> None:
    assert compare(with_signature(FIRST, fingerprint=""), FIRST).likeness is Likeness.SAME
    moved = with_signature(FIRST, fingerprint="0" * 16, frames=("torch/_inductor/elsewhere.py:other",))
    assert compare(moved, FIRST).likeness is Likeness.OTHER


def test_another_release_may_move_the_line() -> None:
    file = FIRST.signature.frames[0].partition(":")[0] if FIRST.signature else ""
    moved = with_signature(FIRST, fingerprint="0" * 16, frames=(f"{file}:renamed",))
    newer = replace(moved, environment={**FIRST.environment, "torch": "9.9.0"})
    found = compare(newer, FIRST)
    assert found.likeness is Likeness.SAME
    assert "two releases" in found.because
    assert "torch" in [row.what for row in found.differences]


def test_other_words_of_one_type_are_another_bug() -> None:
    other = with_signature(FIRST, message="something else entirely", fingerprint="1" * 16)
    assert compare(FIRST, other).likeness is Likeness.OTHER


def test_two_crashes_of_two_operations_are_not_known_to_be_one() -> None:
    assert compare(crashed("aten.sin"), crashed("aten.sin")).likeness is Likeness.SAME
    found = compare(crashed("aten.sin"), crashed("aten.cos"))
    assert found.likeness is Likeness.UNKNOWN
    assert "aten.sin and aten.cos" in found.because


def test_what_did_not_fail_cannot_be_compared() -> None:
    passed = replace(FIRST, signature=None, verdict=replace(FIRST.verdict, symptom=Symptom.NONE))
    assert compare(passed, FIRST).because == "Only one of the runs shows a failure."
    assert compare(passed, passed).because == "Neither run shows a failure."


@pytest.mark.parametrize(
    ("right", "status", "said"), [("inductor_exception", 0, "The same bug."), ("incomplete", 1, "Not the same bug.")]
)
def test_the_exit_status(right: str, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["compare", str(GOLDEN / "inductor_exception"), str(GOLDEN / right)])
    assert end.value.code == status
    assert capsys.readouterr().out.startswith(said)
