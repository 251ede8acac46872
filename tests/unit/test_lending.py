"""A warm interpreter that is lent: what is asked of it, what comes back, and that no trouble with it is a run's."""

import contextlib
import json
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.forkclient import ForkServer
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.lending import ADDRESS, REFUSED, Lender, run_borrowed
from triage.probe.run import Probe, ProbeRequest
from triage.probe.staging import KEPT_WHEN_SET
from triage.probe.target import Target
from triage.session.settings import Settings
from triage.stories import screening
from triage.stories import sweep as sweeping
from triage.stories.screening import Screening
from triage.stories.sweep_setup import SweepStart
from triage.sweep.store import Store

SCREEN = Settings(screen=True)
Reply = Callable[[dict], dict | None]


@pytest.fixture
def lent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Reply], str]:
    """The address of one who answers so, once; with nothing, it goes away."""

    def begin(reply: Reply) -> str:
        listening = socket.socket(socket.AF_UNIX)
        monkeypatch.chdir(tmp_path)  # paths of sockets are short
        listening.bind("ask")
        listening.listen()

        def answer() -> None:
            asking, _ = listening.accept()
            with contextlib.suppress(OSError), asking, asking.makefile("rb") as lines:
                told = reply(json.loads(lines.readline()))
                if told is not None:
                    asking.sendall(json.dumps(told).encode() + b"\n")

        threading.Thread(target=answer, daemon=True).start()
        return "ask"

    return begin


def launched(folder: Path) -> Launch:
    return Launch(
        ("python", "a.py", "--steps", "2"), folder, {"NAME": "x"}, folder / "out.log", folder / "err.log", 20.0
    )


def printed(request: dict) -> dict:
    for name in ("stdout", "stderr"):
        (Path(request["root"]) / f"{name}.txt").write_text(json.dumps(request))
    return {"code": 0, "seconds": 1.5}


def test_a_borrowed_interpreter_gets_the_program_and_its_whole_environment(tmp_path, lent):
    assert run_borrowed(lent(printed), launched(tmp_path)) == Exit(0, 1.5)
    request = json.loads((tmp_path / "out.log").read_text())
    asked = {name: request[name] for name in ("script", "args", "cwd", "env", "timeout")}
    wanted = {"script": "a.py", "args": ["--steps", "2"], "env": {"NAME": "x"}, "timeout": 20.0}
    assert asked == {**wanted, "cwd": str(tmp_path)}
    assert (tmp_path / "err.log").exists()


def test_what_it_refuses_to_say_anything_about_has_no_answer(tmp_path, lent):
    def refused(request: dict) -> dict:
        (Path(request["root"]) / REFUSED).write_text("it sets a variable")
        return printed(request)

    assert run_borrowed(lent(refused), launched(tmp_path)) is None
    assert not (tmp_path / "out.log").exists()


def test_one_that_is_gone_or_broken_has_no_answer(tmp_path, lent):
    assert run_borrowed(str(tmp_path / "nobody"), launched(tmp_path)) is None
    assert run_borrowed(lent(lambda request: None), launched(tmp_path)) is None


def test_nobody_waits_for_it_who_was_cancelled(tmp_path, lent):
    cancel = Cancel()
    cancel.set()
    held = threading.Event()
    assert run_borrowed(lent(lambda request: {"late": held.wait(30)}), launched(tmp_path), cancel) is None
    held.set()


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_ctrl_c_while_it_starts_leaves_neither_its_process_nor_its_directory(tmp_path, monkeypatch):
    begun: list[ForkServer] = []

    def pressed(server: ForkServer, cancel: Cancel) -> None:
        begun.append(server)
        raise KeyboardInterrupt

    for name in KEPT_WHEN_SET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ForkServer, "_await_ready", pressed)
    with pytest.raises(KeyboardInterrupt):
        Lender(sys.executable, tmp_path / "store")
    assert not begun[0].alive
    assert not list(tmp_path.glob("triage-*"))


def request_for(folder: Path) -> ProbeRequest:
    return ProbeRequest("as_is", Target("python", ("python", "a.py"), folder), None, 300.0, folder)


def probes(
    monkeypatch: pytest.MonkeyPatch, warm: OutcomeKind, fresh: OutcomeKind, *, answers: bool = True
) -> list[str]:
    """What was run where, of runs that end so."""
    ran: list[str] = []

    def run_probe(request: ProbeRequest, cancel: Cancel | None = None, start: object = None) -> Probe:
        ran.append(f"{'warm' if start else 'fresh'} {request.timeout:.0f}")
        if start is not None:
            start(Launch((), Path(), {}, Path(), Path()), cancel)
        outcome = Outcome(warm if start else fresh)
        return Probe(request.name, None, outcome, None, AgentNotes(), Path("log"))

    monkeypatch.setattr(screening, "run_probe", run_probe)
    monkeypatch.setattr(screening, "run_borrowed", lambda *asked: Exit(0, 1.0) if answers else None)
    return ran


def test_a_pass_in_the_warm_interpreter_is_enough(tmp_path, monkeypatch):
    ran = probes(monkeypatch, OutcomeKind.OK, OutcomeKind.EXCEPTION)
    asked = Screening(SCREEN, {ADDRESS: "there"})
    assert asked.run_probe(request_for(tmp_path)).outcome.kind is OutcomeKind.OK
    assert (ran, asked.doubted) == (["warm 60"], False)


@pytest.mark.parametrize("kind", [OutcomeKind.EXCEPTION, OutcomeKind.WRONG_RESULT])
def test_what_a_script_raises_there_is_the_answer_of_its_screening(tmp_path, monkeypatch, kind):
    """Where all is told about it, it is run again."""
    ran = probes(monkeypatch, kind, OutcomeKind.OK)
    asked = Screening(SCREEN, {ADDRESS: "there"})
    probe = asked.run_probe(request_for(tmp_path))
    assert (probe.outcome.kind, probe.lent, ran, asked.doubted) == (kind, True, ["warm 60"], False)


@pytest.mark.parametrize("kind", [OutcomeKind.CRASH, OutcomeKind.HANG])
def test_another_failure_there_is_asked_of_fresh_processes_from_then_on(tmp_path, monkeypatch, kind):
    ran = probes(monkeypatch, kind, OutcomeKind.OK)
    asked = Screening(SCREEN, {ADDRESS: "there"})
    asked.run_probe(request_for(tmp_path))
    asked.run_probe(replace(request_for(tmp_path), name="as_is-compared"))
    assert (ran, asked.doubted) == (["warm 60", "fresh 300", "fresh 300"], True)


def test_without_an_answer_nothing_is_known_and_nobody_asks_again(tmp_path, monkeypatch):
    ran = probes(monkeypatch, OutcomeKind.INVALID, OutcomeKind.OK, answers=False)
    asked = Screening(SCREEN, {ADDRESS: "there"})
    asked.run_probe(request_for(tmp_path))
    asked.run_probe(request_for(tmp_path))
    assert (ran, asked.doubted) == (["warm 60", "fresh 300", "fresh 300"], False)


@pytest.mark.parametrize(
    "changed", [{"command": ("torchrun", "a.py")}, {"command": ("python", "-m", "pkg")}, {"stdin": Path("input")}]
)
def test_only_a_script_as_a_fresh_interpreter_would_run_it_is_asked_there(tmp_path, monkeypatch, changed):
    ran = probes(monkeypatch, OutcomeKind.OK, OutcomeKind.OK)
    request = request_for(tmp_path)
    Screening(SCREEN, {ADDRESS: "there"}).run_probe(replace(request, target=replace(request.target, **changed)))
    Screening(SCREEN, {}).run_probe(request)
    assert ran == ["fresh 300", "fresh 300"]


@pytest.mark.parametrize(
    ("settings", "there"),
    [
        (Settings(), ["uncompiled", "aot_eager_decomp_partition", "changed"]),
        (Settings(operation_only=True), ["inductor", "uncompiled", "aot_eager_decomp_partition", "changed"]),
        (SCREEN, ["as it is", "changed"]),
    ],
)
def test_what_is_to_be_told_in_whole_fails_in_a_process_of_its_own(tmp_path, monkeypatch, settings, there):
    """What should pass is asked in the warm interpreter: rungs below, and texts that may lead round it, with fewer logs."""
    ran = probes(monkeypatch, OutcomeKind.OK, OutcomeKind.EXCEPTION)
    asked = Screening(settings, {ADDRESS: "there"})
    request = request_for(tmp_path)
    requests = {name: replace(request, rung=name) for name in ("inductor", "uncompiled", "aot_eager_decomp_partition")}
    requests |= {"as it is": replace(request, rung=None)}
    requests |= {"changed": replace(request, overlay={Path("a.py"): b""}, extra_env={"TORCH_LOGS": "recompiles"})}
    asked_there = []
    for name, each in requests.items():
        asked.run_probe(each)
        asked_there += [name] if ran[-1] == "warm 60" else []
    assert sorted(asked_there) == sorted(there)


def test_a_wrong_value_there_is_enough_where_only_the_operation_is_looked_for(tmp_path, monkeypatch):
    ran = probes(monkeypatch, OutcomeKind.WRONG_RESULT, OutcomeKind.OK)
    asked = Screening(Settings(operation_only=True), {ADDRESS: "there"})
    asked.run_probe(replace(request_for(tmp_path), rung="inductor"))
    assert (ran, asked.doubted) == (["warm 60"], False)


def test_there_a_rung_below_has_to_pass(tmp_path, monkeypatch):
    ran = probes(monkeypatch, OutcomeKind.EXCEPTION, OutcomeKind.OK)
    asked = Screening(Settings(), {ADDRESS: "there"})
    assert asked.run_probe(replace(request_for(tmp_path), rung="eager")).outcome.kind is OutcomeKind.OK
    assert (ran, asked.doubted) == (["warm 60", "fresh 300"], True)


class Settled:
    """A walk that has seen nothing fail."""

    settled = 0
    symptom = Symptom.NONE

    def conclusion(self):
        return self

    def settle(self):
        self.settled += 1


def test_what_failed_there_and_passes_since_is_run_twice_more():
    walk, asked = Settled(), Screening(SCREEN, {})
    asked.settle(walk)
    asked.doubted = True
    asked.settle(walk)
    assert walk.settled == 1
    walk.symptom = Symptom.EXCEPTION
    asked.settle(walk)
    assert walk.settled == 1


def test_a_second_ctrl_c_in_the_end_of_a_sweep_leaves_no_interpreter_behind(tmp_path, monkeypatch):
    class Ending:
        name, slots = "local", 1

        def close(self) -> None:
            raise KeyboardInterrupt

    given_back: list[str] = []
    monkeypatch.setattr(sweeping._Sweeping, "give_back", lambda self: given_back.append(self.engine.name))
    ready = SweepStart((), Store(tmp_path / "sweep"))
    with pytest.raises(KeyboardInterrupt):
        sweeping.sweep(ready, Settings(), Ending(), lambda *_, **__: None)
    assert given_back == ["local"]
