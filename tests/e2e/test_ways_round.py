"""Ways round a failure, followed to the letter: the program is copied, `git apply` takes the patch, and it passes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import known_cause_programs as programs
import pytest
from command import Command

from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target

WHOLE_RUN = True
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

RESIZE = '''"""Thumbnails of pictures."""
import torch.nn.functional as F


def thumbnail(pictures):
    brighter = pictures + 1
    small = F.interpolate(brighter, size=(13, 5), mode="bilinear")  # half the size
    return small.flatten(1) ^ 1
'''
MAIN = """import torch
from layers.resize import thumbnail

torch.manual_seed(0)
pictures = torch.randint(0, 200, (2, 3, 7, 9), dtype=torch.uint8)
fast = torch.compile(thumbnail, backend="aot_eager")
"""
CHECKED = "for _ in range(4):\n    torch.testing.assert_close(fast(pictures), thumbnail(pictures), rtol=0, atol=0)\n"
SILENT = "print(fast(pictures).sum().item(), thumbnail(pictures).sum().item())\n"
RING = """import collections
import torch

ring = collections.deque(range(4))


@torch.compile(backend="eager", fullgraph=True)
def turned(x):
    ring.rotate(1)
    return x + ring[0]


print(turned(torch.ones(3)))
"""
# No guard on which of two objects it is: pytorch/pytorch#196173.
AGAIN = """import torch


class Turns:
    def __init__(self):
        self.first, self.second = object(), object()
        self.now = self.first


def played(x, turns):
    first = turns.now is turns.first
    turns.now = turns.second if first else turns.first
    return x + 1 if first else x - 1


def game(play):
    turns = Turns()
    return [play(torch.ones(2), turns) for _ in range(6)]


torch.testing.assert_close(game(torch.compile(played)), game(played))
"""
TEST = """import torch
import torch.nn.functional as F


def resize(pictures):
    return F.interpolate(pictures + 1, size=(13, 5), mode="bilinear")


def test_the_same_compiled():
    torch.manual_seed(0)
    pictures = torch.randint(0, 200, (2, 3, 7, 9), dtype=torch.uint8)
    fast = torch.compile(resize, backend="aot_eager")
    assert torch.equal(fast(pictures), resize(pictures))
"""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    folder = tmp_path / "program"
    (folder / "layers").mkdir(parents=True)
    (folder / "layers" / "resize.py").write_text(RESIZE)
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    return Command(folder)


def triaged(command: Command, *words: str) -> dict:
    """The report of a run, after which the program's files are what they were."""
    before = files(command.folder)
    out = command.folder.parent / "out"
    command.out = out
    done = command("run", "--out", str(out), *words, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stderr[-2000:]
    assert files(command.folder) == before
    return command.report()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def followed(command: Command, *words: str) -> "subprocess.CompletedProcess[str]":
    """What the program does once the patch was applied, to a copy of it."""
    copy = command.folder.parent / "followed"
    shutil.copytree(command.folder, copy)
    subprocess.run(["git", "apply", str(command.out / "workaround.patch")], cwd=copy, check=True)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *words], cwd=copy, env=env, capture_output=True, text=True)


def only(report: dict, kind: str) -> dict:
    found = [way for way in report["ways_round"] if way["kind"] == kind]
    assert len(found) == 1, (report["ways_round"], report["notes"])
    return found[0]


def test_the_guilty_call_of_a_module_runs_uncompiled(command: Command) -> None:
    name = command.script(MAIN + CHECKED)
    report = triaged(command, name)

    way = only(report, "call")
    assert way["change"] == "Run `F.interpolate` uncompiled in resize.py:7 (helper `_interpolate_uncompiled`)"
    assert way["patch"] == "workaround.patch" == report["artifacts"]["workaround_patch"]
    assert way["cost"].startswith("a step takes ") and "uncompiled" in way["cost"]
    assert "_interpolate_uncompiled(brighter" not in (command.out / "report.md").read_text()  # the patch is not quoted
    assert subprocess.run([sys.executable, name], cwd=command.folder, capture_output=True).returncode != 0
    assert followed(command, name).returncode == 0
    patch = (command.out / "workaround.patch").read_text()
    assert "--- a/layers/resize.py\n" in patch
    assert '+    small = _interpolate_uncompiled(brighter, size=(13, 5), mode="bilinear")  # half the size\n' in patch


def test_where_nobody_checks_the_result_it_is_compared(command: Command) -> None:
    name = command.script(MAIN + SILENT)
    report = triaged(command, name)

    assert report["verdict"]["symptom"] == "wrong_result"
    assert only(report, "call")["cost"] == "time not measured: the run compared results"
    compiled, eager = followed(command, name).stdout.split()
    assert compiled == eager


def test_an_argument_of_torch_compile(command: Command) -> None:
    name = command.script(RING)
    report = triaged(command, name)

    assert report["verdict"]["stage"] == "dynamo"
    assert report["ways_round"][0]["change"] == "Compile with `fullgraph=False` (train.py:7)"
    assert report["ways_round"][0]["patch"] == "workaround.patch"
    done = followed(command, name)
    assert done.returncode == 0 and done.stdout.strip() == "tensor([4., 4., 4.])"


def test_the_cure_of_a_known_cause(command: Command) -> None:
    name = command.script(programs.PRINTS)
    report = triaged(command, name)

    line = "torch._dynamo.config.reorderable_logging_functions.add(print)"
    assert report["known_cause"]["id"] == "graph_break_fullgraph"
    assert report["ways_round"][0]["change"] == f"Put `{line}` after the imports of train.py"
    assert report["ways_round"][0]["patch"] == "workaround.patch"
    assert followed(command, name).returncode == 0


def test_what_dynamo_gets_wrong_in_the_function_that_is_compiled(command: Command) -> None:
    """`@torch.compiler.disable` would do nothing there: torch.compile takes it off its argument."""
    name = command.script(AGAIN)
    report = triaged(command, name)

    assert (report["verdict"]["stage"], report["verdict"]["symptom"]) == ("dynamo", "wrong_result")
    assert report["culprit"]["subsystem"] == "guards"
    assert only(report, "function")["where"] == "train.py:21"
    assert "game(torch.compile(played, disable=True))" in (command.out / "workaround.patch").read_text()
    assert followed(command, name).returncode == 0


@pytest.mark.slow
def test_a_file_of_tests(command: Command) -> None:
    name = command.script(TEST, "test_resize.py")
    report = triaged(command, "--", "pytest", "-p", "no:cacheprovider", name)

    assert only(report, "call")["where"] == "test_resize.py:6"
    assert followed(command, "-m", "pytest", "-q", "-p", "no:cacheprovider", name).returncode == 0


def probed(folder: Path, command: list[str], rung: str | None = None, **asked: Any) -> Probe:
    target = Target(sys.executable, tuple(command), folder)
    extra = {"OMP_NUM_THREADS": "1"}
    return run_probe(
        ProbeRequest("p", target, rung, 200.0, folder / "run", extra_env=extra, verbose_logs=False, **asked)
    )


def test_every_rank_of_torchrun_runs_the_changed_script(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import os\nprint('old', os.environ['RANK'])\n")
    # One write each: what two ranks print in pieces may be mixed within a line.
    changed = b"import os, sys\nos.write(1, f'new {os.environ[\"RANK\"]} {sys.argv}\\n'.encode())\n"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "train.py", "a"]

    found = probed(tmp_path, command, overlay={script: changed})

    told = (tmp_path / "run" / "logs" / "p.out.log").read_text()
    assert found.outcome.kind is OutcomeKind.OK, told
    assert sorted(told.split("\n")) == ["", "new 0 ['train.py', 'a']", "new 1 ['train.py', 'a']"]


def test_calls_are_measured_where_that_is_asked(tmp_path: Path) -> None:
    # They are at work: one that waits tells nothing.
    (tmp_path / "train.py").write_text(
        "import time, torch\n@torch.compile\ndef f(x):\n    end = time.process_time() + 0.02\n"
        "    while time.process_time() < end:\n        pass\n    return x * 2\n"
        "x = torch.ones(2, requires_grad=True)\nfor _ in range(9):\n    f(x).sum().backward()\n"
    )
    command = [sys.executable, "train.py"]

    steps = probed(tmp_path, command, "uncompiled", timed=True).notes.steps
    assert (steps.calls, steps.backwards) == (9, 9)
    assert 0.02 <= steps.call < 0.2 and steps.seconds > steps.call
    assert probed(tmp_path, command, "uncompiled").notes.steps is None
