"""A run that is cancelled, or is at its limit: the program cleans up as at an end of its own, and nothing it does then counts."""

import sys
import threading
import time
from pathlib import Path

import pytest

from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals as Linux has them")
LOCKS = """
import atexit, os, signal, sys, time
atexit.register(os.unlink, "lock")
open("lock", "w").close()
"""
WAITS = "open('waits', 'w').close()\ntime.sleep(60)\n"
TRIES = "try:\n    open('waits', 'w').close()\n    time.sleep(60)\n"


def run(folder: Path, text: str, *, limit: float = 30.0, cancelled: bool = False) -> tuple[Probe, float]:
    """The run, and the seconds it took to end once it waited."""
    (folder / "train.py").write_text(text)
    cancel, began = Cancel(), [0.0]

    def watch() -> None:
        end = time.monotonic() + 30
        while not (folder / "waits").exists() and time.monotonic() < end:
            time.sleep(0.02)
        began[0] = time.monotonic()
        if cancelled:
            cancel.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    target = Target(sys.executable, (sys.executable, "train.py"), folder)
    probe = run_probe(ProbeRequest("p", target, None, limit, folder / "run", verbose_logs=False), cancel)
    watcher.join()
    return probe, time.monotonic() - began[0]


def test_a_cancelled_program_runs_its_exit_handlers(tmp_path: Path) -> None:
    probe, _ = run(tmp_path, f"{LOCKS}{TRIES}finally:\n    print('bye')\n", cancelled=True)
    assert probe.cancelled and not (tmp_path / "lock").exists()
    assert (tmp_path / "run" / "logs" / "p.out.log").read_text() == "bye\n"


@pytest.mark.parametrize(
    "then", ["finally:\n    print('bye')\n", "except BaseException:\n    raise RuntimeError('the run has failed')\n"]
)
def test_one_at_its_limit_stays_a_hang_whatever_it_says_then(tmp_path: Path, then: str) -> None:
    probe, _ = run(tmp_path, LOCKS + TRIES + then, limit=2.0)
    assert probe.outcome.kind is OutcomeKind.HANG and not probe.notes.main_ended and not probe.notes.raised
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize(
    "stubborn",
    [
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS,
        TRIES + "except BaseException:\n    time.sleep(60)\n",
        "import threading\nthreading.Thread(target=time.sleep, args=(60,)).start()\n" + WAITS,
    ],
)
def test_one_that_will_not_go_is_ended_all_the_same(tmp_path: Path, stubborn: str) -> None:
    probe, seconds = run(tmp_path, LOCKS + stubborn, cancelled=True)
    assert probe.cancelled and seconds < 10


def test_a_handler_of_its_own_and_its_children_are_left_alone(tmp_path: Path) -> None:
    text = (
        "import os, signal, subprocess, sys\n"
        "ask = 'import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)'\n"
        "subprocess.run([sys.executable, '-c', ask])\n"
        "if os.fork() == 0:\n    exec(ask)\n    os._exit(0)\n"
        "os.wait()\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('mine', flush=True))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    (tmp_path / "waits").touch()
    probe, _ = run(tmp_path, text)
    assert (tmp_path / "run" / "logs" / "p.out.log").read_text() == "True\nTrue\nmine\n"
    assert (probe.outcome.kind, probe.outcome.signal) == (OutcomeKind.CRASH, "SIGTERM")


def test_a_signal_of_the_programs_own_ends_it_with_that_status(tmp_path: Path) -> None:
    (tmp_path / "waits").touch()
    probe, _ = run(tmp_path, LOCKS + "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(9)\n")
    assert (probe.outcome.kind, probe.outcome.exit_code) == (OutcomeKind.CRASH, -15)
