"""Runs that begin in the middle of the program: which programs can be copied there, and which runs may begin there."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from triage.agent.warm import branch
from triage.agent.warm import standby as agent
from triage.model.accuracy import Comparison
from triage.probe import forkclient, standby
from triage.probe.forkclient import ForkExit, ForkRequest, ServerGoneError
from triage.probe.launch import Cancel, Exit, Launch, launch
from triage.probe.run import ProbeRequest, _is_plain
from triage.probe.staging import make_stage
from triage.probe.standby import Standby
from triage.probe.supervisor import tree_of
from triage.probe.target import Target

AGENT = Path(agent.__file__).parents[1]
LOOK = f"""
import importlib, mmap, os, socket, subprocess, sys
sys.path.insert(0, {str(AGENT)!r})
import boot
boot.load_agent()
shared = importlib.import_module("_triage_agent.warm.standby")._shared
{{}}
print(shared((os.getcwd() + "/own/",)))
"""


@pytest.mark.parametrize(
    ("opens", "told"),
    [
        ("", ""),
        ("file = open('kept.txt', 'w'); os.remove('kept.txt')", "it has kept.txt (deleted) open"),
        ("file = open('metrics.jsonl', 'w+')", "it has metrics.jsonl open"),
        ("log = open('train.log', 'a')", ""),
        ("open('data.bin', 'w').close(); file = open('data.bin')", ""),
        ("os.mkdir('own'); file = open('own/events', 'w')", ""),
        ("ends = os.pipe()", "it has pipe:"),
        ("server = socket.socket()", "it has socket:"),
        ("page = mmap.mmap(-1, 4096)", "it has shared memory"),
        ("page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)", ""),
        ("child = subprocess.Popen(['sleep', '5'])", "it has begun other processes"),
    ],
)
def test_what_shares_more_than_its_memory_is_not_copied(tmp_path: Path, opens: str, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(opens)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    said = done.stdout.strip()
    assert said.startswith(told) if told else not said


REFUSED = f"""
import importlib, os, sys, types
sys.path.insert(0, {str(AGENT)!r})
import boot
boot.load_agent()
standby = importlib.import_module("_triage_agent.warm.standby")
sys.modules["torch"] = None
standby.compat.stance_setter, standby.compat.may_use_accelerator = lambda torch: print, lambda torch: False
channel = types.SimpleNamespace(directory=os.path.join(os.getcwd(), "own"))
copy = standby.Standby(types.SimpleNamespace(channel=channel, alone=lambda: True), "")
print(copy._refused(), end=";")
may_come = copy.may_come()
import tempfile
spool = tempfile.TemporaryDirectory()
print(copy._refused(), end=";")
assert (may_come, copy.may_come()) == (True, True), "looked at once"
spool.cleanup()
name = "torch.distributed.nn.jit.instantiator"
sys.modules[name] = types.SimpleNamespace(_TEMP_DIR=tempfile.TemporaryDirectory())  # at its import, in 2.6
print(copy._refused())
"""


def test_nor_what_keeps_temporary_files(tmp_path: Path) -> None:
    (tmp_path / "torchinductor_me").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path, check=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.strip() == ";it has temporary files;"


WORKERS = f"""
import importlib, os, sys, threading, types
sys.path.insert(0, {str(AGENT)!r})
import boot
boot.load_agent()
standby = importlib.import_module("_triage_agent.warm.standby")
standby.compat.may_use_accelerator = lambda torch: "gpu" in sys.argv
channel = types.SimpleNamespace(directory=os.path.join(os.getcwd(), "own"))
copy = standby.Standby(types.SimpleNamespace(channel=channel, alone=lambda: True), "")
sys.path.insert(0, os.getcwd())
import torch._inductor.async_compile
print(threading.active_count(), os.environ.get("TORCH_WARM_POOL"), copy._refused(), sep=";")
"""
STARTS = """
import os, threading
import torch._inductor.compile_worker.subproc_pool
if os.environ.get("TORCH_WARM_POOL", "1") == "1":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


@pytest.mark.parametrize(
    ("given", "value", "told"),
    [
        ([], None, "1;None;"),
        ([], "1", "1;1;"),
        (["gpu"], None, "2;None;it may use a GPU"),
    ],
)
def test_workers_that_inductor_would_begin_when_it_is_imported_wait_until_they_are_asked(
    tmp_path: Path, given: list[str], value: str | None, told: str
) -> None:
    files = {  # as in torch 2.6 to 2.8 with Triton
        "__init__.py": "import types\ncompiler = types.SimpleNamespace(set_stance=print)",
        "_inductor/__init__.py": "",
        "_inductor/async_compile.py": STARTS,
        "_inductor/compile_worker/__init__.py": "",
        "_inductor/compile_worker/subproc_pool.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = {name: text for name, text in os.environ.items() if name != "TORCH_WARM_POOL"}
    done = subprocess.run(
        [sys.executable, "-c", WORKERS, *given], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path,
        check=True, env={**env, **({"TORCH_WARM_POOL": value} if value else {})},
    )  # fmt: skip
    assert done.stdout.strip() == told


def test_nor_what_reads_an_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format("")], input="data", capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.strip() == "it has an input"


def test_both_ends_call_the_files_alike() -> None:
    for name in ("READY", "PRINTED"):
        assert getattr(agent, name) == getattr(standby, name)
    for name in ("REQUESTS", "REPLIES"):
        assert getattr(agent, name) == getattr(branch, name) == getattr(forkclient, name)


def test_only_a_run_of_which_nothing_is_asked_may_begin_there(tmp_path: Path) -> None:
    target = Target("python", ("python", "train.py"), tmp_path)
    plain = ProbeRequest(
        "uncompiled",
        target,
        "uncompiled",
        60.0,
        tmp_path,
        capture=True,
        stop_later=True,
        extra_env={"TORCH_LOGS": "recompiles"},
    )
    assert _is_plain(plain) and _is_plain(replace(plain, rung="aot_eager"))
    assert not _is_plain(replace(plain, rung=None)) and not _is_plain(replace(plain, rung="inductor"))
    for asked in (
        {"seed": 0},
        {"overlay": {Path("train.py"): b""}},
        {"as_compiled": True},
        {"accuracy": Comparison()},
        {"extra_env": {"CUDA_LAUNCH_BLOCKING": "1"}},
    ):
        assert not _is_plain(replace(plain, **asked))


def test_what_does_not_stand_by_answers_nothing(tmp_path: Path) -> None:
    stage = make_stage(None)
    try:
        copy = Standby()
        launch = Launch(("python",), tmp_path, {}, tmp_path / "out", tmp_path / "err", channel=stage.channel)
        assert copy.start(launch).error
        assert copy.prepare(stage, tmp_path / "out", tmp_path / "err") == stage.root / "standby"
        assert copy.start(launch).error and not copy.keep(lambda: None)
        assert not copy.ended(1.0) and copy.start(launch).error
        assert copy.prepare(stage, tmp_path / "out", tmp_path / "err") is None
    finally:
        stage.remove()


class Runs:
    """Runs of one process, whatever is asked; which ends when it is told to."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.future: Future[ForkExit] = Future()

    def submit(self, _request: ForkRequest) -> "Future[ForkExit]":
        return self.future

    def pid_of(self, _future: "Future[ForkExit]") -> int:
        if self.process.poll() is not None:
            self.future.set_result(ForkExit(Exit(0, 1.0)))
        return self.process.pid

    def cancel(self, _future: "Future[ForkExit]") -> None:
        self.future.set_result(ForkExit(Exit(None, 1.0, cancelled=True)))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("sleep 20", "it does nothing there"),
        ("sh -c 'sleep 20; true'; true", "it does nothing there"),
        # Some hundredths of a second of work at a time: less is not counted by the system.
        ("for i in 1 2 3 4 5 6 7 8; do sleep 0.3; j=0; while [ $j -lt 100000 ]; do j=$((j+1)); done; done", None),
    ],
)
def test_what_does_nothing_in_a_fork_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, told: "str | None"
) -> None:
    monkeypatch.setattr(standby, "IDLE_SECONDS", 1.5)
    copy = Standby()
    copy._facts = {"seconds": 0.0}
    with subprocess.Popen(["sh", "-c", does], stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            done = copy._waited(Runs(process), ForkRequest("", tmp_path, 60.0), Cancel())  # type: ignore[arg-type]
            assert done.error == told and (told or done.code == 0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


RUNS = f"""
import importlib, os, signal, sys, time
sys.path.insert(0, {str(AGENT)!r})
import boot
boot.load_agent()
children = importlib.import_module("_triage_agent.warm.children").Children(())
pid, _ = children.start({{"id": 1, "root": os.getcwd(), "timeout": 60.0, "script": "train.py"}})
if pid == 0:
    signal.signal(signal.SIGTERM, lambda *_: (open("told", "w").close(), os._exit(0)))
    open("begun", "w").close()
    while True:
        time.sleep(0.01)  # not once for long: a signal that comes just before a sleep begins is heard after it
while not os.path.exists("begun"):
    time.sleep(0.01)
children.running[pid].grace = 60.0  # it may have to wait for a processor
children.end_all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_runs_in_a_copy_that_is_to_end_are_told_so(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", RUNS], cwd=tmp_path, check=True, timeout=30)
    assert (tmp_path / "told").exists()


STANDS_BY = f"""
import importlib, os, sys, time, types
sys.path.insert(0, {str(AGENT)!r})
import boot
boot.load_agent()
standby = importlib.import_module("_triage_agent.warm.standby")
recorder = types.SimpleNamespace(channel=types.SimpleNamespace(directory=os.getcwd()))
standby.Standby(recorder, sys.argv[1])._in_the_copy(os.pipe()[1], {{"seconds": 0.0, "printed": [0, 0]}})
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_copy_whose_triage_was_killed_removes_what_its_runs_had(tmp_path: Path) -> None:
    stage, own = make_stage(None), tmp_path / "stage" / "forked"
    own.mkdir(parents=True)
    try:
        copy = Standby()
        folder = copy.prepare(stage, tmp_path / "out", tmp_path / "err")
        assert folder is not None and copy._pipes is not None
        subprocess.run([sys.executable, "-c", STANDS_BY, str(folder)], cwd=tmp_path, check=True)
        while not (folder / standby.READY).exists():
            time.sleep(0.01)
        forks = copy._ready()
        assert forks is not None
        run = forks.submit(ForkRequest("", own, 60.0, script="train.py"))
        while forks.pid_of(run) is None:
            time.sleep(0.01)
        os.close(copy._pipes[0])
        with pytest.raises(ServerGoneError):
            run.result(10)
        assert not own.parent.exists()
    finally:
        stage.remove()


COPY = """
import json, os, signal, subprocess, sys, time
copy = subprocess.Popen(["sh", "-c", "trap 'echo > told; exit' TERM; echo > begun; while :; do sleep 0.1; done"],
                        start_new_session=True)
while not os.path.exists("begun"):
    time.sleep(0.01)
with open("ready.json", "w") as file:
    json.dump({"pid": copy.pid}, file)
LAST
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("last", ["time.sleep(60)", "os._exit(0)"])
def test_and_so_is_the_copy(tmp_path: Path, last: str) -> None:
    ready, cancel = tmp_path / "ready.json", Cancel()
    kept: list[Callable[[], None]] = []
    asked = Launch(
        (sys.executable, "-c", COPY.replace("LAST", last)), tmp_path, dict(os.environ), tmp_path / "out", tmp_path / "err",
        standby=ready, keep=lambda let_go: not kept.append(let_go),
    )  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(launch, asked, cancel)
        while not ready.exists() or not ready.read_text():
            time.sleep(0.01)
        if last == "time.sleep(60)":
            cancel.set()
        assert run.result(30).cancelled == cancel.is_set()
    assert bool(kept) != cancel.is_set() and (tmp_path / "told").exists() == cancel.is_set()
    for let_go in kept:
        let_go()
    assert (tmp_path / "told").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_all_below_a_process() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 5 & wait"]) as shell:
        try:
            while len(tree_of(shell.pid)) < 2:
                pass
            assert shell.pid in tree_of(shell.pid) and tree_of(None) == set()
        finally:
            for pid in tree_of(shell.pid):
                subprocess.run(["kill", "-9", str(pid)], check=False)
