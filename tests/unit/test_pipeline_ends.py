"""How a run ends that does not end well: a bug of ours, an unknown error of the command line, a reader that has gone."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from triage.cli import app
from triage.cli.view import _State, plain_line
from triage.environments.describe import PAGE, TargetEnvironment
from triage.errors import TargetError, UsageError
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe
from triage.probe.target import Target
from triage.reduce.interface import Reduction
from triage.reduce.verifying import Verification, as_it_is
from triage.session.clock import BudgetSpentError
from triage.session.events import Emitter, Event
from triage.session.settings import Settings
from triage.stories import run as story
from triage.stories import run_files
from triage.stories import target as asked_target
from triage.stories.findings import Findings
from triage.stories.target import AskedTarget
from triage.stories.verify import VerifyResult
from triage.trial.runner import ForkServerRunner


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError("our own mistake")


@pytest.fixture
def quiet_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`pipeline.run` on a script that passes, without any process."""
    notes = AgentNotes(started=True, torch_version="2.13.0")
    passed = Probe("as_is", None, Outcome(OutcomeKind.OK, exit_code=0), None, notes, Path("as_is.err.log"))
    monkeypatch.setattr(
        asked_target, "describe_target", lambda python, **_: TargetEnvironment(python, "2.13.0", None, "")
    )
    monkeypatch.setattr(story, "check_syntax", lambda target: None)
    monkeypatch.setattr(Walk, "ask", lambda self, rung, name, **_: passed)
    monkeypatch.chdir(tmp_path)
    target = Target(sys.executable, (sys.executable, "x.py"), tmp_path)
    heard: list[Event] = []
    return lambda reduce=False: (
        heard,
        lambda: story.run(target, ("x.py",), Settings(out=tmp_path / "out", reduce=reduce), Emitter(heard.append)),
    )


def test_a_bug_of_ours_does_not_cost_the_report(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(story, "_reproduce", fail)
    heard, run = quiet_run()
    assert isinstance(run().bug, ZeroDivisionError)
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert not report["complete"] and "bug of its own (ZeroDivisionError)" in report["incomplete_reason"]
    assert heard[-1].kind == "run_ended"


def test_where_only_the_operation_was_looked_for_the_run_can_be_gone_on_with(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Reduction("import torch\n", "native", "graph", 1, 2, 1.0, minimal=False, complete=True, enough=True)

    def find_out(found: Findings, asked: AskedTarget) -> None:
        found.reproduced = as_it_is(made, Verification())

    monkeypatch.setattr(story, "_find_out", find_out)
    quiet_run()[1]()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert not report["complete"] and "--operation-only" in report["incomplete_reason"]
    assert not report["reproducer"]["verified"]


@pytest.mark.parametrize("slow", [True, False])
def test_what_takes_long_to_be_asked_can_be_read_about_before(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, slow: bool
) -> None:
    seconds = 20 * run_files.SLOW_SECONDS if slow else 40.0
    made = Reduction("import torch\n", "native", "graph", 1, 20, seconds, minimal=True, complete=True)
    seen: list[Any] = []

    def find_out(found: Findings, asked: AskedTarget) -> None:
        found.reproduced = as_it_is(made, Verification(3, 3))
        run_files.report_beforehand(found, found.reproduced)
        files = (tmp_path / "out" / "report.json", tmp_path / "out" / "repro.py")
        seen.extend(file.read_text() for file in files if file.is_file())

    monkeypatch.setattr(story, "_find_out", find_out)
    heard, run = quiet_run()
    run()
    lines = [plain_line(event) for event in heard if event.kind == "report_written"]
    last = json.loads((tmp_path / "out" / "report.json").read_text())
    assert run_files.NOT_ASKED_YET not in last["notes"]
    if not slow:
        assert seen == [] and lines == []
        return
    report = json.loads(seen[0])
    assert (
        seen[1] == "import torch\n" and run_files.NOT_ASKED_YET in report["notes"] and report["reproducer"]["verified"]
    )
    assert lines[0] is not None and lines[0].endswith("; what is to blame inside the stage is added to it")


def test_a_target_that_does_not_describe_itself_does_not_cost_the_report(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stuck(python: str, **_: Any) -> TargetEnvironment:
        raise TargetError(f"{python} did not answer within 120 s.")

    monkeypatch.setattr(asked_target, "describe_target", stuck)
    assert quiet_run()[1]().exit_code == 1
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["complete"] and report["environment"]["torch"] == "2.13.0"


def test_an_interrupt_while_the_report_is_written_does_not_cost_it(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    original = run_files.assemble
    monkeypatch.setattr(run_files, "assemble", lambda found: (os.kill(os.getpid(), 2), original(found))[1])
    done = quiet_run()[1]()
    assert done.exit_code == 1 and (tmp_path / "out" / "report.json").is_file()


def test_what_the_user_can_put_right_is_raised_on(quiet_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise TargetError("no torch")

    monkeypatch.setattr(AskedTarget, "check_usable", refuse)
    heard, run = quiet_run()
    with pytest.raises(TargetError):
        run()
    assert (heard[-1].kind, heard[-1].facts["exit_code"]) == ("run_ended", 4)  # it is listed as going on no more


class Warming:
    """A runner whose interpreter is ready only once nobody wants it any more, or cannot be started at all."""

    def __init__(self, error: OSError | None = None) -> None:
        self.closed, self.error = threading.Event(), error

    def warmed(self) -> None:
        if self.error is not None:
            raise self.error
        assert self.closed.wait(20)

    def look(self, source: str, file: str) -> str | None:
        return None

    def close(self) -> None:
        self.closed.set()


def test_nobody_waits_for_the_warm_interpreter_to_be_told_what_to_put_right(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise TargetError("no torch")

    monkeypatch.setattr(AskedTarget, "check_usable", refuse)
    monkeypatch.setattr(story, "usable_cores", lambda: 2)
    monkeypatch.setattr(story, "candidate_runner", lambda found: setattr(found, "runner", Warming()))
    began = time.monotonic()
    with pytest.raises(TargetError):
        quiet_run(reduce=True)[1]()
    assert time.monotonic() - began < 15


def test_nor_where_the_script_calls_no_compiler(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(story, "usable_cores", lambda: 2)
    monkeypatch.setattr(story, "candidate_runner", lambda found: setattr(found, "runner", Warming()))
    began = time.monotonic()
    assert quiet_run(reduce=True)[1]().exit_code == 1
    assert time.monotonic() - began < 15
    assert json.loads((tmp_path / "out" / "report.json").read_text())["environment"]["torch"] == "2.13.0"


def test_what_no_warm_interpreter_can_be_asked_a_plain_one_is(quiet_run: Any, tmp_path: Path) -> None:
    asked = AskedTarget(Target(sys.executable, (), tmp_path), Warming(OSError("no space left")))
    told = asked.waited(10)
    assert told.torch == "2.13.0"


class Describing(Warming):
    """A warm interpreter that has the versions at hand, and whose page takes as long as it is there."""

    def warmed(self) -> None: ...

    def look(self, source: str, file: str) -> str | None:
        if PAGE in source:
            self.closed.wait(60)
            return None
        return json.dumps({"torch": "2.13.0", "python": "3.11.7"})


def test_a_run_that_is_cut_short_has_the_versions_and_does_not_wait_for_the_page(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def spent(found: Findings, asked: AskedTarget) -> None:
        limit = time.monotonic() + 10
        while asked._answer is None and time.monotonic() < limit:
            time.sleep(0.01)
        raise BudgetSpentError

    monkeypatch.setattr(story, "usable_cores", lambda: 2)
    monkeypatch.setattr(story, "candidate_runner", lambda found: setattr(found, "runner", Describing()))
    monkeypatch.setattr(story, "_run_script", spent)
    monkeypatch.setattr(asked_target, "describe_target", fail)  # nor is a plain interpreter asked that late
    began = time.monotonic()
    assert quiet_run(reduce=True)[1]().exit_code == 5
    assert time.monotonic() - began < 8
    environment = json.loads((tmp_path / "out" / "report.json").read_text())["environment"]
    assert (environment["torch"], environment["python"]) == ("2.13.0", "3.11.7")


def test_the_report_is_what_is_waited_for_once_the_run_has_ended(
    quiet_run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long run the compiler's trace alone takes seconds: the step that the budget ended was named for as long."""
    state, waits = _State(), []
    monkeypatch.setattr(run_files, "write_report", lambda *given: waits.append(state.waits_for()))

    def spent(found: Findings, asked: AskedTarget) -> None:
        found.session.emit.add(state.listen)
        with found.session.timed("locate"):
            raise BudgetSpentError

    monkeypatch.setattr(story, "_run_script", spent)
    quiet_run()[1]()
    assert waits == ["still writing the report"]


def test_a_runner_that_was_closed_makes_no_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runner = ForkServerRunner(sys.executable, jobs=1)
    runner._fresh._new_directory().rmdir()  # of a candidate in a fresh process
    runner.compare(None)
    runner.close()
    assert runner.look("", "x") is None and not list(tmp_path.iterdir())


def test_after_the_budget_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runner = ForkServerRunner(sys.executable, jobs=1)
    runner.until(time.monotonic() - 1.0)
    assert runner.look("", "x") is None and not list(tmp_path.iterdir())
    runner.close()


def ended(words: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        app.main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_bug_says_where_its_traceback_lies(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(story, "run", fail)
    script = Path(__file__)
    assert ended(["run", str(script)]) == 70
    told = capsys.readouterr().err
    assert told.startswith("triage: a bug of triage itself") and "Traceback" not in told
    file = Path(next(word for word in told.split() if "triage-bug-" in word).rstrip(";"))
    try:
        assert "our own mistake" in file.read_text() and str(script) in file.read_text()
    finally:
        file.unlink()


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError("a", "b", "c"), 2), (TargetError("a", "b", "c"), 4), (KeyboardInterrupt(), 130)]
)
def test_errors_become_words_and_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(story, "run", refuse)
    assert ended(["run", __file__]) == code
    told = capsys.readouterr().err
    assert told == ("Interrupted.\n" if code == 130 else "triage: a\n  why:  b\n  next: c\n")


def test_a_letter_that_the_terminal_does_not_know_does_not_cost_the_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = "what \N{INFINITY} is"
    out = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr("triage.stories.verify.verify_again", lambda *_: VerifyResult(True, (asked,)))
    assert ended(["verify", str(tmp_path)]) == 0
    out.flush()
    assert out.buffer.getvalue() == b"what \\u221e is\n"


def test_a_reader_that_has_gone_is_no_error() -> None:
    command = f"{sys.executable} -m triage run --help | true"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_an_interrupt_while_the_reproducer_is_written_counts_once_it_is() -> None:
    before, ended = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), run_files.no_interrupts(later=True):
        signal.raise_signal(signal.SIGINT)
        ended.append("written")
    assert ended == ["written"] and signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_while_the_last_report_is_written_is_none() -> None:
    with run_files.no_interrupts():
        signal.raise_signal(signal.SIGINT)
