"""Programs that behave as badly as programs do, each with a real failure of torch.compile: a right report, and no orphan."""

from pathlib import Path

import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

# Dynamo refuses this under fullgraph=True; without it, and uncompiled, it works. Nothing has to be built.
FAILING = """
import torch
import torch._dynamo

@torch.compile(fullgraph=True)
def f(x):
    torch._dynamo.graph_break()
    return x + 1
"""
CALL = "f(torch.ones(3))\n"

ZOO = {
    "prints a gigabyte": """
import os
block = b"loss 0.1234\\n" * 87_382
for _ in range(1024):
    os.write(1, block)
"""
    + CALL,
    "has threads that never end, and ignores SIGTERM": """
import signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Thread(target=lambda: [time.sleep(1) for _ in range(600)]).start()
"""
    + CALL,
    "forks a daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
"""
    + CALL,
    "leaves with success after the failure": """
import os
try:
    f(torch.ones(3))
except Exception:
    os._exit(0)
""",
    "closes its file descriptors": """
import os
os.closerange(0, 256)
"""
    + CALL,
    "changes directory and deletes it": """
import os, tempfile
place = tempfile.mkdtemp()
os.chdir(place)
os.rmdir(place)
"""
    + CALL,
    "catches everything, and replaces the hooks": """
import sys, threading, faulthandler
sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *args: None
sys.stderr = open("/dev/null", "w")
faulthandler.disable()
"""
    + CALL,
}


@pytest.fixture
def triage(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.parametrize("manners", ZOO)
def test_a_hostile_program_ends_in_a_right_report(triage: Command, manners: str) -> None:
    triage.script(FAILING + ZOO[manners])
    done = triage("run", "--quiet", "--no-reduce", "--timeout", "25", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    verdict = triage.report()["verdict"]
    assert (verdict["stage"], verdict["symptom"]) == ("dynamo", "exception"), verdict


MEMORY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
kept = []
while True:
    kept.append(f(torch.empty(1 << 26).fill_(1.0)))
"""
RECURSION = "def f(x):\n    return f(x) + 1\n\ntorch.compile(f)(torch.ones(3))\n"


@pytest.mark.parametrize(
    "source",
    ["import torch\nf = torch.compile(lambda x: x + 1, backend='eager')\n" + MEMORY, "import torch\n" + RECURSION],
)
def test_a_program_that_exhausts_memory_or_the_stack_by_itself_is_told_so(triage: Command, source: str) -> None:
    triage.script(source)
    done = triage("run", "--quiet", "--no-reduce", "--timeout", "60", "--out", "out", "train.py")
    assert done.returncode == 3, done.stderr
    assert triage.report()["verdict"]["stage"] == "script"


RANKS = """
import torch
import torch.distributed as dist

def step(x):
    if dist.get_rank() == 1:
        torch._dynamo.graph_break()
    return x + 1

dist.init_process_group("gloo")
total = torch.compile(step, fullgraph=True)(torch.ones(3))
dist.all_reduce(total)
dist.destroy_process_group()
"""


def test_a_failure_of_one_rank_names_the_rank(triage: Command) -> None:
    triage.script(RANKS)
    torchrun = ("torchrun", "--standalone", "--nproc-per-node", "2", "train.py")
    done = triage("run", "--quiet", "--no-reduce", "--out", "out", "--", *torchrun)
    assert done.returncode == 0, done.stderr
    verdict = triage.report()["verdict"]
    assert verdict["stage"] == "dynamo" and "on rank 1 of 2" in verdict["summary"]


SPAWNED = """
import torch
import torch.multiprocessing as mp

def work(rank):
    torch.compile(lambda x: x.cos() + rank, backend="relu_compile_error_TESTING_ONLY")(torch.ones(3))
    torch.compile(lambda x: torch.relu(x) + rank, backend="relu_compile_error_TESTING_ONLY")(torch.ones(3))

if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""


def test_what_a_spawned_process_raises_is_located_in_that_process(triage: Command) -> None:
    triage.script(SPAWNED)
    done = triage("run", "--quiet", "--no-reduce", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    report = triage.report()
    assert report["verdict"]["stage"] == "backend"
    assert "ReluCompileError" in report["verdict"]["summary"] and "torch.relu(x)" in report["verdict"]["line"]
