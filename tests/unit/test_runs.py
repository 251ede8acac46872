"""`triage list`, `clean`, `open`: what is a run, and what is never touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from triage.cli import app as cli
from triage.errors import UsageError
from triage.session.events import Event, Journal
from triage.stories.runs import STILL, is_run, page_of, remove, runs_in
from triage.sweep.store import Store

GOLDEN = Path(__file__).parents[1] / "golden"
HOUR = 3600.0


def make_run(
    place: Path, *, hours: float = 10.0, golden: str | None = "inductor_exception", ended: bool = True
) -> Path:
    place.mkdir(parents=True)
    if golden is not None:
        shutil.copy(GOLDEN / golden / "report.json", place)
        shutil.copy(GOLDEN / golden / "report.md", place)
    events = [{"kind": "run_started", "command": ["train.py"]}, {"kind": "run_ended" if ended else "query"}]
    journal = place / "journal.jsonl"
    journal.write_text("".join(json.dumps(event) + "\n" for event in events))
    when = time.time() - hours * HOUR
    os.utime(journal, (when, when))
    return place


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "triage-out"
    make_run(made / "old", hours=50)
    make_run(made / "new", hours=2, golden="script_stage")
    (made / "latest").symlink_to("new")
    return made


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(list(words))
    return int(end.value.code or 0)


def test_the_newest_is_first_and_says_what_it_found(out: Path) -> None:
    new, old = runs_in(out)
    report: Any = json.loads((old.path / "report.json").read_text())
    assert (new.path.name, new.stage) == ("new", "script")
    assert (old.stage, old.symptom) == ("inductor", "exception")
    assert (old.op, old.fingerprint) == (report["culprit"]["op"], report["signature"]["fingerprint"])
    assert 49 < old.age / HOUR < 51
    assert old.size > 4000


def test_what_is_not_ours_is_no_run(out: Path) -> None:
    (out / "thesis").mkdir()
    (out / "thesis" / "report.json").write_text((out / "old" / "report.json").read_text())
    (out / "data").mkdir()
    (out / "data" / "journal.jsonl").write_text('{"entry": "dear diary"}\n')
    (out / "file").write_text("x")
    assert [name for name in ("thesis", "data", "file", "latest") if is_run(out / name)] == []
    assert call("clean", "--keep", "0", "--yes") == 0
    assert sorted(place.name for place in out.iterdir() if not place.is_symlink()) == ["data", "file", "thesis"]


def test_the_newest_are_kept(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("clean", "--keep", "1", "--yes") == 0
    assert [run.path.name for run in runs_in(out)] == ["new"]
    assert "Removed 1 of 1." in capsys.readouterr().out


def test_only_what_is_old_enough(out: Path) -> None:
    assert call("clean", "--keep", "0", "--older-than", "1", "--yes") == 0
    assert [run.path.name for run in runs_in(out)] == ["new"]


def test_nothing_goes_where_nobody_can_be_asked(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("clean", "--keep", "0") == 2
    assert "--yes" in capsys.readouterr().err
    assert len(runs_in(out)) == 2


def test_a_run_that_goes_on_is_left_alone(out: Path) -> None:
    make_run(out / "busy", hours=2 * STILL / HOUR, ended=False, golden=None)
    journal = Journal(out / "busy" / "journal.jsonl")
    journal(Event("query", {}))
    assert call("clean", "--keep", "0", "--yes") == 0
    assert [(run.path.name, run.going_on) for run in runs_in(out)] == [("busy", True)]


def test_one_that_was_killed_goes(out: Path) -> None:
    journal = make_run(out / "killed", hours=0, ended=False, golden=None) / "journal.jsonl"
    code = """
import os, sys
from pathlib import Path
from triage.session.events import Event, Journal
journal = Journal(Path(sys.argv[1]))
journal(Event("query", {}))
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code, journal], check=False).returncode == -9
    assert [run.going_on for run in runs_in(out)] == [False, False, False]


def test_a_sweep_is_listed_and_goes_when_it_is_old_and_nobody_uses_it(out: Path) -> None:
    store = Store(out / "sweep-1")
    when = time.time() - 30 * HOUR
    os.utime(out / "sweep-1" / "sweep.sqlite", (when, when))
    os.utime(out / "sweep-1" / "sweep.sqlite-wal", (when, when))
    sweep = next(run for run in runs_in(out) if run.kind == "sweep")
    assert sweep.going_on
    assert 29 < sweep.age / HOUR < 31
    assert remove([sweep]) == [sweep.path]
    store.close()
    (sweep,) = (run for run in runs_in(out) if run.kind == "sweep")
    assert not sweep.going_on
    assert remove([sweep]) == []
    assert not sweep.path.exists()


def test_latest_is_never_a_sweep(out: Path) -> None:
    Store(out / "sweep-1").close()
    remove([run for run in runs_in(out) if run.path.name == "new"])
    assert str((out / "latest").readlink()) == "old"


@pytest.mark.parametrize("text", ["", "SQLite format 3\0 of somebody"])
def test_what_somebody_called_sweep_is_left(out: Path, text: str) -> None:
    (out / "theirs").mkdir()
    (out / "theirs" / "sweep.sqlite").write_text(text)
    assert len(runs_in(out)) == 2


def test_what_became_another_thing_since_it_was_listed_is_left(out: Path) -> None:
    runs = runs_in(out)
    (out / "old" / "journal.jsonl").unlink()
    assert remove(runs) == [out / "old"]
    assert (out / "old").is_dir() and not (out / "new").exists()


def test_latest_follows(out: Path) -> None:
    remove(runs_in(out)[:1])
    assert (out / "latest").resolve() == (out / "old").resolve()


def test_latest_ends_with_the_last(out: Path) -> None:
    remove(runs_in(out))
    assert not (out / "latest").is_symlink()


def test_no_directory_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("list") == 2
    assert "There are no runs in triage-out." in capsys.readouterr().err


def test_the_list_as_json(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "--json") == 0
    assert [row["path"] for row in json.loads(capsys.readouterr().out)] == ["triage-out/new", "triage-out/old"]


def test_html_is_opened_before_markdown(out: Path) -> None:
    assert page_of(out / "latest").name == "report.md"
    (out / "new" / "report.html").write_text("<html>")
    assert page_of(out / "latest").name == "report.html"
    with pytest.raises(UsageError, match="holds nothing to open"):
        page_of(out / "nowhere")


def test_open_prints_the_path_where_there_is_no_screen(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("a browser was started"))
    assert call("open") == 0
    assert capsys.readouterr().out == f"{(out / 'new' / 'report.md').resolve()}\n"


def test_open_shows_it_in_a_browser(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setenv("BROWSER", "something")
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert call("open", "older") == 2
    assert call("open", "triage-out/old") == call("open", "old") == 0
    assert opened == 2 * [(out / "old" / "report.md").resolve().as_uri()]


def test_a_run_is_meant_by_the_name_that_the_list_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.cli.latest import named

    monkeypatch.chdir(tmp_path)
    for name in ("latest", "train-1"):
        (tmp_path / "triage-out" / name).mkdir(parents=True)
    assert named(Path("train-1")) == Path("triage-out/train-1") and named(Path("latest")) == Path("triage-out/latest")
    assert named(Path("train-2")) == Path("train-2") and named(Path("other/train-1")) == Path("other/train-1")
    (tmp_path / "train-1").mkdir()
    assert named(Path("train-1")) == Path("train-1")
