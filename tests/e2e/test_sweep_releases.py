"""A sweep under one release of torch against one under another: what it calls new and fixed is what running by hand shows.

Gigabytes, so with `-m slow` only. The programs are of public issues whose outcome changes between 2.7 and 2.13.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command
from releases import interpreter_with
from swept_programs import PASSES

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="torch 2.7 cannot compile for this Python"),
]

# pytorch/pytorch#176851: a class attribute that changes between two calls was not guarded
ATTRIBUTE = """import torch
class State:
    factor = 1.0
def scale(x):
    return x * State.factor
fast, x = torch.compile(scale, backend="eager"), torch.tensor([4.0])
fast(x)
State.factor = 10.0
assert torch.equal(fast(x), scale(x)), "an attribute of before"
"""
# pytorch/pytorch#173053: Inductor refused a sparse embedding
SPARSE = """import torch
def look(table, rows):
    return torch.nn.functional.embedding(rows, table, sparse=True)
with torch.no_grad():
    print(torch.compile(look)(torch.randn(10, 4), torch.tensor([1, 2])).shape)
"""
# pytorch/pytorch#135439: supported in between
INFERENCE = """import torch
def step(x):
    return x + 1 if x.is_inference() else x - 1
print(torch.compile(step, fullgraph=True, backend="eager")(torch.ones(3)))
"""
# pytorch/pytorch#197896: what a method of a local class does to a list around it is lost
CLOSURE = """import torch
def make():
    log = []
    class Meter:
        def touch(self):
            log.append(1)
    def step(x):
        Meter().touch()
        return x + 1
    return step, log
step, log = make()
torch.compile(step, backend="eager")(torch.ones(2))
assert len(log) == 1, "nothing was noted"
"""
PROGRAMS = {"attribute": ATTRIBUTE, "sparse": SPARSE, "inference": INFERENCE, "closure": CLOSURE, "fine": PASSES}


@pytest.fixture(scope="module")
def old_torch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with torch 2.7.1."""
    return interpreter_with(tmp_path_factory.mktemp("torch-2.7"), "torch==2.7.1", "numpy<2", "setuptools<80")


def passes(python: str, script: Path) -> bool:
    return subprocess.run([python, str(script)], capture_output=True, check=False).returncode == 0


def swept(command: Command, *words: str) -> None:
    """A sweep over the models, some of which fail."""
    process = command.start("sweep", "models", *words)
    _, said = process.communicate(timeout=1800)
    assert process.returncode == 1, said


def test_what_is_new_and_fixed_is_what_running_by_hand_shows(tmp_path: Path, old_torch: str) -> None:
    command = Command(tmp_path)
    (tmp_path / "models").mkdir()
    for name, text in PROGRAMS.items():
        command.script(text, f"models/{name}.py")
    by_hand = {
        name: (
            passes(old_torch, tmp_path / f"models/{name}.py"),
            passes(sys.executable, tmp_path / f"models/{name}.py"),
        )
        for name in PROGRAMS
    }
    assert set(by_hand.values()) == {(True, True), (True, False), (False, True), (False, False)}
    swept(command, "--python", old_torch, "--out", "old")
    swept(command, "--python", sys.executable, "--out", "out", "--against", "old")
    against = json.loads((command.out / "sweep.json").read_text())["against"]

    def those(before: bool, now: bool) -> list[str]:
        return [f"models/{name}.py" for name in sorted(by_hand) if by_hand[name] == (before, now)]

    assert against["new"] == those(True, False)
    assert against["fixed"] == those(False, True)
    assert against["still"] == those(False, False)
    assert (against["changed"], against["flaky"]) == ([], [])
