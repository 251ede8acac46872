"""A way round in an installed package: an environment of its own has the package, and the program is patched, not the package."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from command import Command

WHOLE_RUN = True
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

LAYERS = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.gate, self.last = torch.nn.Linear(4, 8), Gate(), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.gate(self.first(x)))


def trained(model, x, steps):
    step = torch.compile(model)
    return [step(x).sum().item() for _ in range(steps)]
"""
MAIN = """import torch
import torch._inductor.config
from somelayers.layers import Net, trained

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"
torch.manual_seed(0)
print(trained(Net().eval(), torch.ones(3, 4), 3))
"""


def environment(folder: Path) -> Path:
    """The interpreter of a new environment with that package, and with torch as we have it."""
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    (packages / "ours.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (packages / "somelayers").mkdir()
    (packages / "somelayers" / "__init__.py").touch()
    (packages / "somelayers" / "layers.py").write_text(LAYERS)
    return folder / "bin" / "python"


def test_the_function_of_the_package_is_left_uncompiled_by_the_program(tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    command = Command(tmp_path)
    script = command.script(MAIN)
    done = command("run", "--python", str(python), "--out", "out", script)
    assert done.returncode == 0, done.stdout + done.stderr
    best = command.report()["ways_round"][0]
    assert best["change"].startswith("Leave `Gate.forward` of somelayers.layers uncompiled"), best
    patched = subprocess.run(["git", "apply", "out/workaround.patch"], cwd=tmp_path, capture_output=True, text=True)
    assert patched.returncode == 0, patched.stderr
    ran = subprocess.run([str(python), script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert (python.parents[1] / "lib").glob("*/site-packages/somelayers/layers.py").__next__().read_text() == LAYERS
