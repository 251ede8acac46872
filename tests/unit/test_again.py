"""`triage verify`: a reproducer that compares by itself stands for the wrong result that the report tells."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.model.accuracy import Check, Wrongness
from triage.model.codec import encode
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.report import ReportSignature, ReportVerdict, Reproducer, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.stories import verify

OWN = RaisedException("AssertionError", "eager: 1.0, compiled: 2.0", (Frame("repro.py", 9, "<module>"),))
OWN_NAN, OWN_DTYPE = (replace(OWN, check=Check(kind)) for kind in ("nan", "dtype"))
OTHER = RaisedException("RuntimeError", "no kernel", (Frame("repro.py", 9, "<module>"),))


WRONG = Wrongness("nan", "output 0")


def run_directory(folder: Path, symptom: Symptom, wrong: Wrongness | None = WRONG) -> Path:
    report = TriageReport(
        {"name": "triage", "version": "0"},
        ("python", "train.py"),
        ReportVerdict(symptom, Stage.INDUCTOR, summary="s"),
        signature=ReportSignature("WrongResult", "output 0 ...", fingerprint="f" * 16, wrong=wrong),
        reproducer=Reproducer("repro.py", True, 3, True, "graph", "native", 1, 9, 15, 1.0, True),
    )
    (folder / "report.json").write_text(json.dumps(encode(report)))
    (folder / "repro.py").write_text("pass\n")
    return folder


@pytest.mark.parametrize(
    ("symptom", "wrong", "error", "same"),
    [
        (Symptom.WRONG_RESULT, WRONG, OWN, True),
        (Symptom.WRONG_RESULT, WRONG, OWN_NAN, True),
        (Symptom.WRONG_RESULT, WRONG, OWN_DTYPE, False),  # it is wrong in another way now
        (Symptom.WRONG_RESULT, WRONG, OTHER, False),
        (Symptom.WRONG_RESULT, WRONG, None, False),
        (Symptom.EXCEPTION, WRONG, OWN, True),  # of a script that raises by a wrong value
        (Symptom.EXCEPTION, WRONG, OTHER, False),
        (Symptom.EXCEPTION, None, OWN, False),
    ],
)
def test_a_reproducer_that_compares_by_itself(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    symptom: Symptom,
    wrong: Wrongness | None,
    error: RaisedException | None,
    same: bool,
) -> None:
    outcome = (
        Outcome(OutcomeKind.OK, 1.0, 0) if error is None else Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)
    )
    result = CandidateResult(outcome, AgentNotes(True, "2.13.0"), signature_of(outcome), True)
    monkeypatch.setattr(verify, "verify", lambda *_, runs, **__: [result] * runs)
    python = shutil.which("python3")
    told = verify.verify_again(run_directory(tmp_path, symptom, wrong), python, 3, 10.0)
    assert told.same is same


@pytest.mark.parametrize(("uncompiled", "same"), [("loss 0.25\n", True), ("loss 1.13\n", False)])
def test_a_reproducer_that_only_prints_is_compared_with_its_uncompiled_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uncompiled: str, same: bool
) -> None:
    def printing(said: str) -> CandidateResult:
        return CandidateResult(Outcome(OutcomeKind.OK, 1.0, 0), AgentNotes(True, "2.13.0"), None, True, printed=said)

    said = {None: "loss 1.13\n", "uncompiled": uncompiled}
    monkeypatch.setattr(verify, "verify", lambda *_, runs, rung=None, **__: [printing(said[rung])] * runs)
    folder = run_directory(tmp_path, Symptom.WRONG_RESULT)
    report = json.loads((folder / "report.json").read_text())
    report["verdict"]["stage"], report["signature"]["wrong"] = "dynamo", None
    (folder / "report.json").write_text(json.dumps(report))
    told = verify.verify_again(folder, shutil.which("python3"), 3, 10.0)
    assert told.same is same
    assert ("it prints `loss 1.13` where" in told.lines[0]) is same


@pytest.mark.parametrize("uncompiled", [True, False])
def test_a_script_that_fails_without_the_compiler_is_no_reproducer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uncompiled: bool
) -> None:
    error = RaisedException("OSError", "no file: '/tmp/triage-a1_b/2/cwd/conf.json'")
    outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)
    failed = CandidateResult(outcome, AgentNotes(True, "2.13.0"), signature_of(outcome), True)
    passed = CandidateResult(Outcome(OutcomeKind.OK, 1.0, 0), AgentNotes(True, "2.13.0"), None, True)
    said = {None: failed, "uncompiled": failed if uncompiled else passed}
    monkeypatch.setattr(verify, "verify", lambda *_, runs, rung=None, **__: [said[rung]] * runs)
    (tmp_path / "train.py").write_text("open('conf.json')\n")
    told = verify.verify_again(tmp_path / "train.py", shutil.which("python3"), 3, 10.0)
    assert told.same is not uncompiled
    assert ("without torch.compile as well" in told.lines[-1]) is uncompiled
    assert "no file: 'conf.json'" in told.lines[0]


def test_a_script_that_does_not_parse_is_no_reproducer(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def f(:\n")
    with pytest.raises(UsageError, match=r"train\.py is not valid Python: line 1"):
        verify.verify_again(tmp_path / "train.py", shutil.which("python3"), 3, 10.0)


def test_a_reproducer_that_reads_what_it_does_not_hold_cannot_be_verified_by_itself(tmp_path: Path) -> None:
    folder = run_directory(tmp_path, Symptom.EXCEPTION)
    report = json.loads((folder / "report.json").read_text())
    report["reproducer"]["needs"] = ["c.json"]
    (folder / "report.json").write_text(json.dumps(report))
    with pytest.raises(UsageError, match=r"cannot be run by itself") as caught:
        verify.verify_again(folder, None, 3, 10.0)
    assert "c.json" in str(caught.value.why) and "--include-data" in caught.value.next
