"""Going on with an earlier run: what its journal tells is not asked again, and what it does not tell is."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from triage.cli import app
from triage.errors import UsageError
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.report import ReportVerdict, Reproducer, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom, Verdict
from triage.probe.run import Probe, ProbeRequest
from triage.probe.target import Target
from triage.report.redact import Redactor
from triage.report.store import load_report, write_report
from triage.session.events import Emitter, Journal
from triage.session.settings import Settings
from triage.stories import resume
from triage.stories import run as story
from triage.stories.findings import Findings
from triage.stories.resume import earlier_run
from triage.trial.driver import digest


def journal(directory: Path, *words: str) -> Emitter:
    emit = Emitter(Journal(directory / "journal.jsonl"))
    emit("run_started", directory="x", command=list(words), python="/p", cwd=directory, settings=Settings(budget=9))
    return emit


def test_probes_and_verdicts_are_what_they_were(tmp_path: Path) -> None:
    outcome = Outcome(OutcomeKind.EXCEPTION, 2.5, 1, exception=RaisedException("TypeError", "bad operand"))
    known = Probe("as_is", None, outcome, signature_of(outcome), AgentNotes(True), Path("a.log"), (Path("g.json"),))
    emit = journal(tmp_path, "train.py", "--epochs", "3")
    emit("probe_facts", probe=known)
    emit("query", digest=digest("inductor", "x = 1\n"), verdict="same_failure")
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"kind": "query", "digest": "torn')

    found = earlier_run(tmp_path)

    assert found.words == (None, False, ["train.py", "--epochs", "3"])
    assert found.settings["budget"] == 9
    assert dict(found.verdicts) == {digest("inductor", "x = 1\n"): Verdict.SAME_FAILURE}
    assert digest("eager", "x = 1\n") not in found.verdicts
    request = ProbeRequest("as_is", Target("python", ("python", "x.py"), tmp_path), None, 10.0, tmp_path)
    assert found.run_probe(request) == known


@pytest.mark.parametrize(
    ("timeout", "late", "asked_again"),
    [(20.0, False, False), (300.0, False, True), (50.0, True, False), (300.0, True, True)],
)
def test_what_hung_is_asked_again_where_it_is_given_more_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, timeout: float, late: bool, asked_again: bool
) -> None:
    hung = Outcome(OutcomeKind.HANG, 20.1, -15, detail="no compilation had begun", late=late)
    known = Probe("as_is", None, hung, signature_of(hung), AgentNotes(True), Path("a.log"))
    journal(tmp_path, "train.py")("probe_facts", probe=known)
    asked: list[ProbeRequest] = []
    monkeypatch.setattr(resume, "run_probe", lambda request, cancel: asked.append(request))
    request = ProbeRequest("as_is", Target("python", ("python", "x.py"), tmp_path), None, timeout, tmp_path)
    found = earlier_run(tmp_path).run_probe(request)
    assert asked == ([request] if asked_again else []) and (found == known) is not asked_again


@pytest.mark.parametrize(
    ("kind", "lent", "whole", "asked_again"),
    [
        (OutcomeKind.EXCEPTION, True, True, True),
        (OutcomeKind.EXCEPTION, True, False, False),  # its operation alone is looked for
        (OutcomeKind.EXCEPTION, False, True, False),
        (OutcomeKind.OK, True, True, False),
    ],
)
def test_what_failed_where_few_logs_are_kept_is_run_again_to_be_told_about_in_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: OutcomeKind, lent: bool, whole: bool, asked_again: bool
) -> None:
    known = Probe("as_is", None, Outcome(kind), None, AgentNotes(True), Path("a.log"), lent=lent)
    journal(tmp_path, "train.py")("probe_facts", probe=known)
    asked: list[ProbeRequest] = []
    monkeypatch.setattr(resume, "run_probe", lambda request, cancel: asked.append(request))
    request = ProbeRequest("as_is", Target("python", ("python", "x.py"), tmp_path), None, 10.0, tmp_path)
    earlier_run(tmp_path).run_probe(request, whole=whole)
    assert asked == ([request] if asked_again else [])


def test_what_all_tests_said_is_not_what_the_failing_one_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    passed = Outcome(OutcomeKind.OK)
    known = Probe("uncompiled", "uncompiled", passed, None, AgentNotes(True, tests=9), Path("a.log"))
    journal(tmp_path, "--", "pytest")("probe_facts", probe=known)
    asked: list[ProbeRequest] = []
    monkeypatch.setattr(resume, "run_probe", lambda request, cancel: asked.append(request))
    found, target = earlier_run(tmp_path), Target("python", ("pytest",), tmp_path)
    whole = ProbeRequest("uncompiled", target, "uncompiled", 10.0, tmp_path)
    assert found.run_probe(whole) == known and not asked
    alone = replace(whole, target=replace(target, only_test="tests/test_x.py::test_a"))
    assert found.run_probe(alone) is None and asked == [alone]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["-m", "pkg.train", "-v"], ("pkg.train", False, ["-v"])),
        (["--", "torchrun", "x.py"], (None, True, ["torchrun", "x.py"])),
    ],
)
def test_the_command_is_read_as_it_was_typed(tmp_path: Path, command: list[str], words: tuple[object, ...]) -> None:
    journal(tmp_path, *command)
    assert earlier_run(tmp_path).words == words


@pytest.mark.parametrize("text", [None, "", json.dumps({"kind": "run_started", "command": []}) + "\n"])
def test_what_is_no_run_says_so(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "journal.jsonl").write_text(text)
    with pytest.raises(UsageError, match="gone on with"):
        earlier_run(tmp_path)


VERIFIED = Reproducer("repro.py", True, 3, True, "graph", "native", 1, 11, 30, 9.0, True, runs=3)


def finished(directory: Path, *, complete: bool = True, code: int = 0) -> TriageReport:
    """A run directory whose run has ended, with a verified reproducer."""
    emit = journal(directory, "train.py")
    report = TriageReport(
        {"name": "triage"}, ("train.py",), ReportVerdict(Symptom.EXCEPTION, Stage.INDUCTOR), reproducer=VERIFIED,
        complete=complete, incomplete_reason=None if complete else "the budget of 9 s ended",
    )  # fmt: skip
    (directory / "repro.py").write_text("boom()\n")
    write_report(directory, report, ("md",), Redactor())
    emit("run_ended", directory="x", exit_code=code)
    return report


@pytest.mark.parametrize(("complete", "anew", "runs"), [(True, [], 0), (True, ["--budget", "60"], 1), (False, [], 1)])
def test_a_run_that_has_come_to_its_end_is_shown_and_not_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    complete: bool, anew: list[str], runs: int,
) -> None:  # fmt: skip
    finished(tmp_path, complete=complete)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    asked = []

    def run(target: Target, command: object, settings: Settings, *_: object) -> story.RunResult:
        asked.append(settings)
        return story.RunResult(load_report(tmp_path), tmp_path, 0)

    monkeypatch.setattr(story, "run", run)
    with pytest.raises(SystemExit) as ended:
        app.main(["run", "--resume", str(tmp_path), *anew])
    assert (ended.value.code, len(asked)) == (0, runs)
    told = capsys.readouterr()
    assert "verified 3/3" in told.out and ("had come to its end" in told.err) == (not runs)


def test_a_verified_reproducer_is_not_replaced_where_the_run_ends_early(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finished(tmp_path, complete=False, code=5)
    before = (tmp_path / "report.md").read_text()

    def interrupted(found: Findings, asked: object) -> None:
        (found.session.directory / "repro.py").write_text("# not verified\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(story, "_run_script", interrupted)
    target = Target(sys.executable, (sys.executable, "train.py"), tmp_path)
    settings = Settings(out=tmp_path, reduce=False)
    done = story.run(target, ("train.py",), settings, Emitter(lambda event: None), earlier_run(tmp_path))
    assert done.exit_code == 130 and done.report.reproducer == VERIFIED
    assert (tmp_path / "repro.py").read_text() == "boom()\n"
    assert (tmp_path / "report.md").read_text() == before
