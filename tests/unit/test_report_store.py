"""Writing and reading runs: all or nothing, redacted, and a clear word where something cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.model.report import LadderRow, ReportSignature, ReportVerdict, Reproducer, TriageReport
from triage.model.stage import Stage, Symptom
from triage.report.redact import Redactor
from triage.report.sources import LONGEST, Sources, read_sources
from triage.report.store import load_report, render_again, write_report

REDACTOR = Redactor(home="/home/annika", user="annika", environ={"HF_TOKEN": "opensesame99"})
REPORT = TriageReport(
    tool={"name": "triage", "version": "0.1.0"},
    command=("python", "/home/annika/train.py", "--password", "rosebud"),
    verdict=ReportVerdict(Symptom.EXCEPTION, Stage.DYNAMO, None, "fails with opensesame99", 3, 3),
    signature=ReportSignature("Unsupported", "rosebud in /home/annika/x", (), "00ff"),
    ladder=(
        LadderRow("uncompiled", "script", "ok", 1.0, None, None, "logs/uncompiled.log"),
        LadderRow("eager", "script", "exception", 1.0, "same", None, "logs/eager.log"),
        LadderRow("inductor", "script", "exception", 1.0, "other", None, "logs/inductor.log"),
    ),
    reproducer=Reproducer("repro.py", True, 3, True, "graph", "native", 1, 9, 15, 12.7, True),
)
LOG = "noise\nTraceback (most recent call last):\n  x()\n  ^^^\nError: opensesame99\n"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "uncompiled.log").write_text("fine")
    (tmp_path / "logs" / "inductor.log").write_text("another")
    (tmp_path / "logs" / "eager.log").write_text(LOG)
    (tmp_path / "repro.py").write_text("import torch\n")
    return tmp_path


def test_what_is_written_is_read_back(run_dir: Path) -> None:
    written = write_report(run_dir, REPORT, ["md", "github"], REDACTOR)
    assert load_report(run_dir) == load_report(run_dir / "report.json") == written
    assert written.artifacts == {
        "report_json": "report.json",
        "report_md": "report.md",
        "issue_md": "issue.md",
        "error_log": "error.log",
    }
    assert {place.name for place in run_dir.iterdir()} == {
        "logs",
        "repro.py",
        "error.log",
        "report.json",
        "report.md",
        "issue.md",
    }


def test_nothing_private_is_written(run_dir: Path) -> None:
    write_report(run_dir, REPORT, ["md", "github"], REDACTOR)
    for name in ("report.json", "report.md", "issue.md", "error.log"):
        text = (run_dir / name).read_text()
        for private in ("annika", "rosebud", "opensesame99"):
            assert private not in text, (name, private)


def test_the_error_log_is_of_the_reported_failure_from_its_traceback_on(run_dir: Path) -> None:
    write_report(run_dir, REPORT, [], REDACTOR)
    assert (run_dir / "error.log").read_text() == "Traceback (most recent call last):\n  x()\nError: <secret>\n"


def test_without_logs_there_is_no_error_log(tmp_path: Path) -> None:
    assert "error_log" not in write_report(tmp_path, REPORT, ["md"], REDACTOR).artifacts
    assert not (tmp_path / "error.log").exists()


def test_rendering_again_needs_no_secret_to_be_known(run_dir: Path) -> None:
    write_report(run_dir, REPORT, ["md"], REDACTOR)
    assert render_again(run_dir, "md", Redactor()) == (run_dir / "report.md").read_text()
    assert render_again(run_dir / "report.json", "json", Redactor()) == (run_dir / "report.json").read_text()


def test_a_changed_reproducer_is_admitted(run_dir: Path) -> None:
    (run_dir / "repro.py").write_text("login('opensesame99')\n")
    written = write_report(run_dir, REPORT, ["md"], REDACTOR)
    assert "Private values in the reproducer were replaced" in written.notes[-1]
    assert "login('<secret>')" in (run_dir / "report.md").read_text()


def test_a_report_is_written_whole_or_not_at_all(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(run_dir, REPORT, ["md"], REDACTOR)
    before = (run_dir / "report.json").read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_report(run_dir, replace(REPORT, recompiles=5), ["md"], REDACTOR)
    assert (run_dir / "report.json").read_text() == before
    assert not list(run_dir.glob(".*"))


def test_files_outside_the_run_are_not_quoted(run_dir: Path) -> None:
    (run_dir.parent / "private.txt").write_text("mine")
    assert REPORT.reproducer is not None
    for path in ("../private.txt", str(run_dir.parent / "private.txt"), "logs", "", "missing.py"):
        report = replace(REPORT, reproducer=replace(REPORT.reproducer, path=path), artifacts={"error_log": path})
        assert read_sources(run_dir, report, Redactor()) == Sources()


def test_a_link_out_of_the_run_is_not_followed(run_dir: Path) -> None:
    (run_dir.parent / "private.txt").write_text("mine")
    (run_dir / "repro.py").unlink()
    (run_dir / "repro.py").symlink_to(run_dir.parent / "private.txt")
    assert read_sources(run_dir, REPORT, Redactor()).reproducer == ""


def test_a_gigantic_log_is_read_from_its_end(run_dir: Path) -> None:
    (run_dir / "logs" / "eager.log").write_text("noise and more\n" * (LONGEST // 10) + "the end\n")
    write_report(run_dir, REPORT, ["md"], REDACTOR)
    text = (run_dir / "error.log").read_text()
    assert len(text) <= LONGEST and text.endswith("the end\n") and text.startswith("noise and more\n")
    assert len((run_dir / "report.md").read_text()) < 65_536


def test_bytes_that_are_no_text_do_no_harm(run_dir: Path) -> None:
    (run_dir / "logs" / "eager.log").write_bytes(b"\xff\x00 error: \x80\n")
    report = replace(REPORT, notes=("lone \udcff surrogate",))
    assert "surrogate" in write_report(run_dir, report, ["md", "github"], REDACTOR).notes[0]
    assert load_report(run_dir).notes == ("lone \ufffd surrogate",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "holds no report"),
        ("{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[]", "no schema_version"),
        ("{}", "no schema_version"),
        ('{"schema_version": 99}', "newer triage"),
        ('{"schema_version": 1}', "not those of a report"),
        ('{"schema_version": 1, "tool": {}, "command": [], "verdict": {"stage": "moon"}}', "not those of a report"),
        ('{"schema_version": 1, "tool": {}, "command": [], "verdict": []}', "not those of a report"),
        ('{"schema_version": 1, "tool": {}, "command": [], "verdict": {}, "ladder": [5]}', "not those of a report"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path: Path, content: str | bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / "report.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as caught:
        load_report(tmp_path)
    assert says in str(caught.value)
    assert all((caught.value.what, caught.value.why, caught.value.next)) and caught.value.exit_code == 2


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load_report(tmp_path / "nowhere")


def test_an_unknown_format_writes_nothing(run_dir: Path) -> None:
    with pytest.raises(UsageError, match="no report format 'pdf'"):
        write_report(run_dir, REPORT, ["md", "pdf"], REDACTOR)
    assert not (run_dir / "report.json").exists()


def test_json_is_the_tree_and_nothing_else(run_dir: Path) -> None:
    write_report(run_dir, REPORT, [], REDACTOR)
    assert json.loads((run_dir / "report.json").read_text())["command"] == [
        "python",
        "~/train.py",
        "--password",
        "<secret>",
    ]


@pytest.mark.parametrize(
    "secret", ["inductor", "inductor2024", "dynamo", "exception", "signature", "ignature0", "same_signature", "verdict"]
)
def test_a_secret_that_is_a_word_of_ours_spoils_no_report(run_dir: Path, secret: str) -> None:
    redactor = Redactor(environ={"A_PASSWORD": secret})
    written = write_report(run_dir, REPORT, ["md", "github"], redactor)
    assert load_report(run_dir) == written
    assert (written.verdict.stage, written.verdict.symptom) == (Stage.DYNAMO, Symptom.EXCEPTION)
    assert written.reproducer.same_signature
