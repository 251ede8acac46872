"""What runs the processes of a sweep: side by side, each with its own limit, and none left behind."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from triage.errors import UsageError
from triage.sweep.engines.forked import RUN
from triage.sweep.engines.interface import Done, Engine, Work
from triage.sweep.engines.local import LocalEngine

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]

MARK = "SWEEP_ENGINE_TEST"  # a target is given no variable of triage's
SLEEPS = "import time; time.sleep({})"
HOLDS = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
time.sleep(300)
"""


def work(folder: Path, name: str, code: str, timeout: float = 60.0) -> Work:
    env = {MARK: folder.name}
    return Work(name, (sys.executable, "-c", code), folder, folder / f"{name}.log", timeout, env, grace=1.0)


def left(folder: Path, seconds: float = 20.0) -> list[int]:
    """Processes with the mark of this test, once those that are about to end had some time."""
    deadline = time.monotonic() + seconds
    while True:
        found = [pid for pid in _pids() if f"{MARK}={folder.name}".encode() in _environment(pid)]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def all_of(engine: Engine, count: int, seconds: float = 120.0) -> dict[str, Done]:
    found: dict[str, Done] = {}
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        done = engine.wait(1.0)
        if done is not None:
            found[done.name] = done
    return found


def begun(folder: Path, count: int, seconds: float = 60.0) -> None:
    """Wait until so many processes run."""
    deadline = time.monotonic() + seconds
    while len([pid for pid in _pids() if f"{MARK}={folder.name}".encode() in _environment(pid)]) < count:
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.quick
def test_this_machine_runs_them_side_by_side_each_with_its_own_limit(tmp_path: Path) -> None:
    engine = LocalEngine(2)
    engine.submit(work(tmp_path, "hangs", HOLDS, timeout=2.0))
    for number in range(3):
        engine.submit(work(tmp_path, f"quick{number}", f"print('hello', {number}); raise SystemExit({number})"))
    engine.submit(Work("absent", ("/no/such/program",), tmp_path, tmp_path / "absent.log", 10.0))
    found = all_of(engine, 5)
    engine.close()
    assert [found[f"quick{number}"].code for number in range(3)] == [0, 1, 2]
    assert (tmp_path / "quick1.log").read_text() == "hello 1\n"
    assert found["hangs"].timed_out
    assert found["absent"].code is None
    assert found["absent"].error
    assert list(found)[-1] in ("hangs", "absent") or found["hangs"].seconds < 20
    assert not left(tmp_path)


@pytest.mark.quick
def test_what_is_closed_leaves_no_process(tmp_path: Path) -> None:
    engine = LocalEngine(2)
    for name in ("one", "two", "waits"):
        engine.submit(work(tmp_path, name, HOLDS))
    begun(tmp_path, 4)
    engine.close()
    assert not left(tmp_path)


def run_of(folder: Path, name: str, code: str, timeout: float = 60.0) -> Work:
    """A run of triage over a script, with the mark of this test."""
    (folder / f"{name}.py").write_text(code)
    words = ("run", "--quiet", "--no-reduce", "--format", "json", "--out", str(folder / name), f"{name}.py")
    return Work(name, (*RUN, *words), folder, folder / f"{name}.log", timeout, {MARK: folder.name}, grace=10.0)


@pytest.mark.quick
def test_runs_of_triage_are_forks_of_one_process(tmp_path: Path) -> None:
    engine = LocalEngine(2)
    marked = f"import os, sys; sys.exit(0 if os.environ['{MARK}'] == '{tmp_path.name}' else 3)"
    engine.submit(run_of(tmp_path, "passes", f"import torch; {marked}"))
    engine.submit(run_of(tmp_path, "fails", "import torch\nprint(unknown)\n"))
    engine.submit(run_of(tmp_path, "hangs", f"import torch, time; {SLEEPS.format(300)}", timeout=12.0))
    engine.submit(Work("misused", (*RUN, "run", "absent.py"), tmp_path, tmp_path / "misused.log", 60.0))
    found = all_of(engine, 4)
    codes = {name: done.code for name, done in found.items()}
    assert codes == {"passes": 1, "fails": 3, "hangs": 130, "misused": 2}
    assert [name for name, done in found.items() if done.timed_out] == ["hangs"]
    assert (tmp_path / "hangs" / "report.json").exists()
    assert "There is no script absent.py" in (tmp_path / "misused.err.log").read_text()
    engine.submit(run_of(tmp_path, "cut", f"import torch, time; {SLEEPS.format(300)}"))
    begun(tmp_path, 1)
    engine.close()
    assert not left(tmp_path)


@pytest.mark.quick
def test_where_that_process_is_killed_its_runs_go_with_it_and_the_next_have_their_own(tmp_path: Path) -> None:
    engine = LocalEngine(1)
    engine.submit(run_of(tmp_path, "first", f"import torch, time; {SLEEPS.format(300)}"))
    begun(tmp_path, 1)
    (shared,) = [pid for pid in _pids() if b"triage.cli.many" in _words(pid) and _parent(pid) == os.getpid()]
    os.kill(shared, signal.SIGKILL)
    assert all_of(engine, 1)["first"].lost
    assert not left(tmp_path)
    engine.submit(run_of(tmp_path, "second", "import torch"))
    assert all_of(engine, 1)["second"].code == 1
    engine.close()


@pytest.fixture
def cluster() -> Any:
    """Three nodes of Ray on this machine."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.nodes = [found.add_node(num_cpus=1) for _ in range(2)]
    found.wait_for_nodes()
    yield found
    found.shutdown()


@pytest.mark.slow
def test_of_three_nodes_of_ray_one_may_die(cluster: Any, tmp_path: Path) -> None:
    from triage.sweep.engines.ray_engine import RayEngine

    engine = RayEngine(cluster.address)
    assert engine.slots == 3
    for number in range(3):
        engine.submit(work(tmp_path, f"w{number}", SLEEPS.format(15)))
    begun(tmp_path, 3)
    cluster.remove_node(cluster.nodes[0], allow_graceful=False)
    found = all_of(engine, 3)
    engine.close()
    assert sorted(done.lost for done in found.values()) == [False, False, True]
    assert sorted(done.code for done in found.values() if not done.lost) == [0, 0]
    assert not left(tmp_path)


@pytest.mark.slow
def test_what_ray_is_to_end_takes_its_grandchildren_with_it(cluster: Any, tmp_path: Path) -> None:
    from triage.sweep.engines.ray_engine import RayEngine

    engine = RayEngine(cluster.address)
    for number in range(2):
        engine.submit(work(tmp_path, f"w{number}", HOLDS))
    begun(tmp_path, 4)
    engine.close()
    assert not left(tmp_path)


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_told() -> None:
    pytest.importorskip("ray")
    from triage.sweep.engines.ray_engine import RayEngine

    with pytest.raises(UsageError):
        RayEngine("127.0.0.1:1")


@pytest.mark.slow
def test_jobs_of_submitit_end_are_cancelled_and_told(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    from triage.sweep.engines.slurm import SlurmEngine

    engine = SlurmEngine(tmp_path / "jobs", 2, "local")
    for number in range(2):
        engine.submit(work(tmp_path, f"w{number}", f"raise SystemExit({number})"))
    engine.submit(work(tmp_path, "hangs", HOLDS, timeout=2.0))
    found = all_of(engine, 3)
    assert [found[name].code for name in ("w0", "w1")] == [0, 1]
    assert found["hangs"].timed_out
    engine.submit(work(tmp_path, "held", HOLDS))
    begun(tmp_path, 2)
    engine.close()
    assert not left(tmp_path)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["ray", "slurm"])
def test_an_engine_whose_library_is_not_there_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triage.cli.sweep import _engine

    monkeypatch.setitem(sys.modules, {"ray": "ray", "slurm": "submitit"}[name], None)
    with pytest.raises(UsageError) as told:
        _engine(name, None, 1, 1, tmp_path)
    assert "pip install" in told.value.next
    assert not list(tmp_path.iterdir())
