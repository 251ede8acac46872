"""Targets that misbehave: the limits hold, and no process is left, whatever they do."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from triage.agent import boot
from triage.probe.launch import LATE, Cancel, Exit, Launch, launch
from triage.probe.starvation import StandsStill
from triage.probe.supervisor import HEAD_BYTES, MARKER, STACKS_SIGNAL, TAIL_BYTES, ask_for_stacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
TAG = "TRIAGE_TEST_LAUNCH"


def left_over(tag: str) -> list[str]:
    """Command lines of the processes that carry this test's tag in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            zombie = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            if f"{TAG}={tag}".encode() in environ and not zombie and int(entry.name) != os.getpid():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def once_begun(log: Path) -> Callable[[int], str]:
    return lambda process: LATE if log.exists() and "begun" in log.read_text() else ""


def wait_for(condition, seconds: float = 10.0) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def run(tmp_path: Path) -> Iterator["Runner"]:
    runner = Runner(tmp_path)
    yield runner
    assert wait_for(lambda: not left_over(runner.tag), 3.0), left_over(runner.tag)


class Runner:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"{os.getpid()}-{folder.name}"
        self.out, self.err = folder / "out.log", folder / "err.log"

    def request(self, source: str, timeout: float = 20.0, **more: object) -> Launch:
        script = self.folder / "target.py"
        script.write_text("import os, signal, subprocess, sys, time\n" + source)
        env = {**os.environ, TAG: self.tag, "PYTHONUNBUFFERED": "1"}
        facts = {
            "argv": (sys.executable, str(script)),
            "cwd": self.folder,
            "env": env,
            "stdout": self.out,
            "stderr": self.err,
        }
        return Launch(**{**facts, "timeout": timeout, "grace": 0.5, **more})

    def __call__(self, source: str, timeout: float = 20.0, cancel: Cancel | None = None, **more: object) -> Exit:
        return launch(self.request(source, timeout, **more), cancel)


def test_status_and_output(run: Runner) -> None:
    done = run("print('hello'); sys.stderr.write('trouble'); sys.exit(3)")
    assert (done.code, done.timed_out, done.cancelled, done.error, done.told_at) == (3, False, False, None, None)
    assert (run.out.read_text(), run.err.read_text()) == ("hello\n", "trouble")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_death_by_a_signal(run: Runner, name: str) -> None:
    done = run(f"os.kill(os.getpid(), signal.{name})")
    assert (done.code, done.signal_name) == (-getattr(signal, name), name)


def test_death_by_a_signal_behind_a_shell(run: Runner) -> None:
    done = run("", argv=("/bin/sh", "-c", "sh -c 'kill -11 $$'; exit $?"))
    assert (done.code, done.signal_name) == (139, "SIGSEGV")


def test_the_target_has_the_signals_of_an_ordinary_process(run: Runner) -> None:
    """A target that ends its own children with SIGTERM (torchrun, multiprocessing) must be able to."""
    done = run(
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL\n"
        "assert signal.getsignal(signal.SIGINT) == signal.default_int_handler\n"
        "child = subprocess.Popen(['sleep', '60']); child.terminate()\n"
        "sys.exit(child.wait(5) != -signal.SIGTERM)"
    )
    assert done.code == 0, run.err.read_text()


def test_nothing_is_read_from_the_terminal(run: Runner) -> None:
    assert run("sys.exit(sys.stdin.read() != '')").code == 0


def test_the_time_limit_is_told_to_the_target_first(run: Runner) -> None:
    done = run("signal.signal(signal.SIGTERM, lambda *_: (print('bye'), sys.exit(0)))\ntime.sleep(60)", timeout=3.0)
    assert done.timed_out and done.seconds < 20
    assert done.told_at is not None and 0 <= time.time() - done.told_at < 20
    assert run.out.read_text() == "bye\n"


def test_the_time_limit_of_a_target_that_will_not_go(run: Runner) -> None:
    began = time.monotonic()
    done = run(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsubprocess.Popen(['sleep', '70'])\ntime.sleep(60)", timeout=3.0
    )
    assert done.timed_out and done.code == -signal.SIGKILL
    assert time.monotonic() - began < 30


def test_two_hundred_megabytes_of_output_leave_both_ends(run: Runner) -> None:
    done = run(
        "print('first')\nfor _ in range(200): sys.stdout.write('x' * 1023 + '\\n' + 'y' * (1 << 20))\nprint('last')",
        timeout=60,
    )
    text = run.out.read_bytes()
    assert done.code == 0
    assert text.startswith(b"first\n") and text.endswith(b"last\n") and b"bytes left out" in text
    assert len(text) <= HEAD_BYTES + TAIL_BYTES + 100


def test_output_up_to_the_bound_is_whole(run: Runner) -> None:
    size = HEAD_BYTES + TAIL_BYTES
    run(f"sys.stdout.write('x' * {size})", timeout=30)
    assert run.out.stat().st_size == size


def test_output_that_cannot_be_written_does_not_stall_the_target(run: Runner) -> None:
    assert run("sys.stdout.write('x' * 4000000)", stdout=Path("/dev/full")).code == 0
    assert run("sys.stdout.write('x' * 4000000)", stdout=run.folder / "no" / "out.log").code == 0


def test_children_and_daemons_end_with_the_target(run: Runner) -> None:
    run(
        "subprocess.Popen(['sleep', '71'])\n"
        "subprocess.Popen(['sleep', '72'], start_new_session=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "        os.execvpe('sleep', ['sleep', '73'], dict(os.environ))\n"
        "    os._exit(0)\n"
        "os.wait()"
    )  # checked by the fixture


def test_a_daemon_without_our_environment_ends_too(run: Runner) -> None:
    run(
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        os.execvpe('sleep', ['sleep', '74.25'], {{'{TAG}': os.environ['{TAG}'], 'PATH': os.environ['PATH']}})\n"
        "    os._exit(0)\n"
        "os.wait()"
    )


def test_a_grandchild_that_holds_the_output_open_does_not_keep_us(run: Runner) -> None:
    began = time.monotonic()
    assert run("subprocess.Popen(['sleep', '75'], start_new_session=True)\nprint('done')").code == 0
    assert time.monotonic() - began < 20


def test_a_target_that_kills_its_own_group(run: Runner) -> None:
    done = run("subprocess.Popen(['sleep', '76'])\nos.killpg(0, signal.SIGKILL)")
    assert (done.code, done.signal_name) == (-9, "SIGKILL")


def test_a_target_that_kills_its_parents_group(run: Runner) -> None:
    begun = "[os.fork() or os.execvp('sleep', ['sleep', '77']) for _ in range(20)]"  # some of them have not begun to run yet
    done = run(f"{begun}\nos.killpg(os.getpgid(os.getppid()), signal.SIGKILL)\ntime.sleep(60)")
    assert done.code is None and done.error is not None and "watching" in done.error


def test_a_target_that_ends_every_process_of_its_session_politely(run: Runner) -> None:
    """SIGTERM, SIGINT and SIGHUP to the supervisor's group change nothing."""
    done = run("for name in (1, 2, 15): os.killpg(os.getpgid(os.getppid()), name)\ntime.sleep(0.3)\nsys.exit(4)")
    assert done.code == 4


def test_cancelled_from_another_thread(run: Runner) -> None:
    cancel = Cancel()
    threading.Timer(0.7, cancel.set).start()
    done = run("subprocess.Popen(['sleep', '78'])\ntime.sleep(60)", cancel=cancel)
    assert done.cancelled and not done.timed_out and done.seconds < 10
    assert run("time.sleep(60)", cancel=cancel).seconds < 5  # one that is set ends the next at once


@pytest.mark.parametrize(
    "change", [{"argv": ("/no/such/program",)}, {"cwd": Path("/no/such/directory")}, {"argv": ("/etc/hostname",)}]
)
def test_what_cannot_be_started_says_why(run: Runner, change: dict) -> None:
    done = run("", **change)
    assert done.code is None and done.error is not None and "Error" in done.error


def test_when_triage_is_killed_the_target_ends_and_our_directory_goes(run: Runner) -> None:
    request = run.request("subprocess.Popen(['sleep', '79'])\nopen('began', 'w').close()\ntime.sleep(60)")
    source = (
        "import sys, pathlib; from triage.probe.launch import Launch, launch; import os\n"
        f"launch(Launch({request.argv!r}, pathlib.Path({str(request.cwd)!r}), {{**os.environ, {TAG!r}: {run.tag!r}}},"
        f" pathlib.Path({str(request.stdout)!r}), pathlib.Path({str(request.stderr)!r}), 60.0, 0.5,"
        f" private=(pathlib.Path({str(run.folder / 'stage')!r}), pathlib.Path({str(run.folder / 'home')!r}))))"
    )
    (run.folder / "stage").mkdir()
    (run.folder / "home").mkdir()
    keeper = subprocess.Popen([sys.executable, "-c", source], cwd=Path(__file__).parents[2])
    assert wait_for((run.folder / "began").exists)
    assert len(left_over(run.tag)) == 2
    keeper.send_signal(signal.SIGKILL)
    keeper.wait()
    assert wait_for(lambda: not left_over(run.tag), 10)
    assert wait_for(lambda: not (run.folder / "stage").exists() and not (run.folder / "home").exists())


def test_an_interrupt_ends_the_target_first(run: Runner) -> None:
    request = run.request("open('began', 'w').close()\ntime.sleep(60)")

    def interrupt() -> None:
        wait_for((run.folder / "began").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        launch(request)
    assert not left_over(run.tag)


def test_the_target_is_marked_with_its_own_identity(run: Runner) -> None:
    run(f"print(os.environ['{MARKER}'])")
    first = run.out.read_text()
    run(f"print(os.environ['{MARKER}'])")
    assert first != run.out.read_text() and len(first) == 33


def test_a_target_that_is_late_is_at_its_limit_and_says_where_it_is(run: "Runner", tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channel.mkdir()
    source = f"""
import faulthandler
def never_ends():
    print("begun", flush=True)
    while True:
        time.sleep(0.1)
file = open(rf"{channel}/stacks-%d.txt" % os.getpid(), "w")
faulthandler.register({STACKS_SIGNAL}, file=file, all_threads=True)
never_ends()
"""
    begun = run.folder / "out.log"
    late = replace(
        run.request(source),
        channel=channel,
        late=lambda process: LATE if begun.exists() and "begun" in begun.read_text() else "",
    )
    done = launch(late)
    assert done.timed_out and done.late and not done.cancelled and done.seconds < 15
    assert "in never_ends" in "".join(path.read_text() for path in channel.glob("stacks-*.txt"))


def test_a_forked_worker_says_where_it_is(run: "Runner", tmp_path: Path) -> None:
    """What the program waits for may be one."""
    channel = tmp_path / "channel"
    channel.mkdir()
    source = f"""
import importlib, sys
sys.path.insert(0, {str(Path(boot.__file__).parents[2])!r})
from triage.agent import boot
boot.load_agent()
hook = importlib.import_module(boot.PACKAGE + ".hooks.hook")
hook.note_stacks({{"channel": {str(channel)!r}, "stacks_signal": {STACKS_SIGNAL}}})
def worker_waits():
    print("begun", flush=True)
    time.sleep(60)
def parent_waits():
    os.wait()
parent_waits() if os.fork() else worker_waits()
"""
    begun = run.folder / "out.log"
    late = replace(
        run.request(source),
        channel=channel,
        late=lambda process: LATE if begun.exists() and "begun" in begun.read_text() else "",
    )
    assert launch(late).timed_out
    told = [path.read_text() for path in channel.glob("stacks-*.txt")]
    assert sorted(("worker_waits" in text, "parent_waits" in text) for text in told) == [(False, True), (True, False)]


def test_what_no_process_of_the_run_is_is_not_asked_where_it_is(tmp_path: Path) -> None:
    """The number of one that has ended may be another's by now, which would die of the signal."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / f"stacks-{other.pid}.txt").touch()
        ask_for_stacks(tmp_path, "of nobody")
        other.communicate(b"\n")
    assert other.returncode == 0


@pytest.mark.parametrize(("source", "still"), [("os.read(os.pipe()[0], 1)", True), ("while True: pass", False)])
def test_one_that_does_nothing_any_more_stands_still(run: "Runner", source: str, still: bool) -> None:
    late = replace(
        run.request(source, timeout=9.0),
        late=partial(StandsStill(3.0), ()),
    )
    done = launch(late)
    assert done.timed_out and (done.late, done.still) == (still, still)


def test_one_that_is_at_its_time_limit_is_not_called_late(run: "Runner") -> None:
    done = launch(replace(run.request("time.sleep(60)", timeout=1.0), late=lambda process: ""))
    assert done.timed_out and not done.late


SPIN = "while True: pass"
CROWDED = f"""
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
for _ in range(2):
    if not os.fork():
        {SPIN}
{SPIN}
"""


def test_one_that_gets_no_processor_is_waited_for_longer_and_one_that_sleeps_is_not(run: "Runner") -> None:
    done = run(CROWDED, timeout=3.0, spare=4.0)
    assert done.timed_out and done.seconds > 4.0 and done.starved > 1.0
    asleep = run("time.sleep(60)", timeout=2.0, spare=4.0)
    assert asleep.timed_out and asleep.seconds - asleep.starved < 3.0


def test_nobody_is_waited_for_longer_than_is_to_spare(run: "Runner") -> None:
    assert run(CROWDED, timeout=2.0, spare=1.0).seconds < 5.0
    assert run(CROWDED, timeout=2.0).starved == 0.0
