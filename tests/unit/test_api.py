"""`triage.run` and its like: light to import, typed answers, an HTML form in which nothing of the program is markup."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import triage
from triage.api import notebook
from triage.api.answers import BisectReport, with_directory
from triage.errors import UsageError
from triage.model.bisection import Bisection, Kind, to_json
from triage.model.report import TriageReport as Tree
from triage.report.store import load_report
from triage.stories.bisect import BisectResult
from triage.stories.run import RunResult

GOLDEN = Path(__file__).parents[1] / "golden"
FIRST = GOLDEN / "inductor_exception"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the story was asked; it answers with a golden report."""
    calls: list[tuple[Any, ...]] = []

    def run(target: Any, command: Any, settings: Any, emit: Any, *, own_stdin: bool) -> RunResult:
        calls.append((target, command, settings, own_stdin))
        emit("run_started", directory=str(FIRST))
        return RunResult(load_report(FIRST), FIRST, 0)

    monkeypatch.setattr("triage.stories.run.run", run)
    return calls


def in_fresh_python(source: str) -> Any:
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_importing_triage_imports_nothing_else() -> None:
    loaded = in_fresh_python(
        "import json, sys; before = set(sys.modules); import triage; triage.__version__\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert [name for name in loaded if name.split(".")[0] not in {"triage", *sys.stdlib_module_names}] == []
    assert [name for name in loaded if name.startswith("triage")] == ["triage"]


def test_bisect_can_be_called_however_python_finds_it() -> None:
    """The package of that name replaces the attribute as soon as it is imported."""
    assert in_fresh_python(
        "import json, triage\nfirst = callable(triage.bisect)\nimport triage.bisect.axis\n"
        "print(json.dumps([first, callable(triage.bisect), type(triage.bisect).__name__ != 'function']))"
    ) == [True, True, True]


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = triage.nothing
    assert {"run", "bisect", "load", "TriageReport"} <= set(dir(triage))


def test_a_run_is_that_of_the_command(asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("print()\n")
    kinds: list[str] = []
    report = triage.run("train.py", "--steps", "2", budget=60, formats=["md"], on_event=lambda e: kinds.append(e.kind))
    (target, command, settings, own_stdin) = asked[0]
    assert command == ("train.py", "--steps", "2")
    assert target.command[1:] == ("train.py", "--steps", "2")
    assert (settings.budget, settings.format, settings.timeout, own_stdin) == (60.0, ("md",), 300.0, False)
    assert kinds == ["run_started"]
    assert isinstance(report, Tree)
    assert (report.exit_code, report.directory, report.path) == (0, FIRST, FIRST / "report.html")
    assert report.reproducer_path == FIRST / "repro.py"
    assert "torch.compile" in report.reproducer_text


def test_a_module_and_a_whole_command(asked: list[Any]) -> None:
    triage.run(None, "--x", module="pkg.train")
    triage.run(command=[sys.executable, "-c", "pass"])
    assert [call[1] for call in asked] == [("-m", "pkg.train", "--x"), ("--", sys.executable, "-c", "pass")]


@pytest.mark.parametrize("given", [{}, {"script": "a.py", "command": ["b"]}, {"module": "a", "command": ["b"]}])
def test_one_thing_is_run(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="not clear what is to be run"):
        triage.run(**given)


def test_a_wrong_setting_is_said(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    with pytest.raises(UsageError):
        triage.run(script, budget=-3)


def test_an_earlier_run_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = triage.load(FIRST)
    assert (report.directory, report.exit_code, report.title) == (FIRST, None, triage.load(FIRST / "report.json").title)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        triage.load()


def test_a_bisection_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer is what was written, and so redacted; a report stands for its run."""
    written = Bisection(
        "repro.py", Kind.REGRESSED, ("python",), before="2.8.0", after="2.9.0", summary="<b>since 2.9.0"
    )
    (tmp_path / "bisect.json").write_text(json.dumps(to_json(written)))
    asked: list[Any] = []

    def bisect(ask: Any, settings: Any, emit: Any, *, own_stdin: bool) -> BisectResult:
        asked.append((ask.words, ask.wish.good, ask.wish.bad, settings.budget, own_stdin))
        return BisectResult(replace(written, summary="not redacted"), tmp_path, 0)

    monkeypatch.setattr("triage.stories.bisect.bisect", bisect)
    found = triage.bisect(triage.load(FIRST), good="2.8.0", bad="2.9.0", budget=60)
    assert asked == [((str(FIRST),), "2.8.0", "2.9.0", 60.0, False)]
    assert (found.before, found.after, found.exit_code, found.directory) == ("2.8.0", "2.9.0", 0, tmp_path)
    assert "&lt;b&gt;since 2.9.0" in found._repr_html_()


def test_nothing_of_the_program_is_markup_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = load_report(FIRST)
    assert tree.reproducer is not None
    evil = "<script>alert('1')</script>"
    tree = replace(
        tree, verdict=replace(tree.verdict, summary=evil), signature=replace(tree.signature, message=evil), culprit=None
    )
    (tmp_path / "repro.py").write_text(f"# {evil}\n")
    (tmp_path / "report.html").write_text("")
    monkeypatch.chdir(tmp_path.parent)
    text = with_directory(tree, tmp_path)._repr_html_()
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 3
    assert f'href="{tmp_path.name}/report.html"' in text


def test_a_notebook_that_is_passed_on_tells_no_directory_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "annika"
    (home / "project" / "triage-out" / "run").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    report = with_directory(load_report(FIRST), home / "project" / "triage-out" / "run")
    found = BisectReport("t.py", Kind.REGRESSED, (), directory=report.directory, summary="since 2.9.0")
    for here, told in ((home / "project", "triage-out/run/report.json"), (tmp_path, "~"), (tmp_path / "home", "~")):
        monkeypatch.chdir(here)
        for text in (repr(report), report._repr_html_()):
            assert told in text and str(tmp_path) not in text
        assert str(tmp_path) not in repr(found) + found._repr_html_() and "since 2.9.0" in repr(found)


def test_a_cell_is_a_script(asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    monkeypatch.chdir(tmp_path)
    shell.run_line_magic("load_ext", "triage")
    found = shell.run_cell_magic("triage", "--budget 60 --no-reduce", "import torch\nx = 1\n")
    (target, command, settings, _) = asked[0]
    assert (tmp_path / command[0]).read_text() == "import torch\nx = 1\n"
    assert target.script == tmp_path / command[0]
    assert (settings.budget, settings.reduce) == (60.0, False)
    assert "<pre>" in shell.display_formatter.format(found)[0]["text/html"]


def test_a_cell_that_cannot_be_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert notebook.cell("--colour red", "x = 1\n") is None
    assert "does not know --colour" in capsys.readouterr().out
    assert notebook.cell("", "x = (\n") is None
    assert "next:" in capsys.readouterr().out
