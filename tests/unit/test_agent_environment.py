"""What is told of the target interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

from triage.agent.programs import environment
from triage.environments.describe import TargetEnvironment


def test_packages_are_listed_as_pip_lists_them() -> None:
    pytest.importorskip("pip")
    command = [sys.executable, "-mpip", "list", "--format=freeze"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert environment._listed_here(command) == (0, printed.strip(), "")
    assert environment._listed_here([sys.executable, "-V"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (dvs-builder@U16)",
    ],
)
def test_the_driver_of_a_gpu(tmp_path: Path, line: str) -> None:
    told = tmp_path / "version"
    told.write_text(f"{line}\nGCC version:  gcc version 12.2.0\n")
    assert environment._driver(str(told)) == "550.54.15"
    assert environment._driver(str(tmp_path / "none")) is None


def test_a_gpu_is_told_with_what_belongs_to_it() -> None:
    facts = {"cuda_device": "NVIDIA H100", "cuda_capability": "9.0", "driver": "550.54.15", "cudnn": 90701}
    found = TargetEnvironment("python", "2.11.0", None, "", facts).summary()
    assert (found["device"], found["cuda_capability"], found["driver"], found["cudnn"]) == (*map(str, facts.values()),)
    assert TargetEnvironment("python", "2.11.0", None, "", {}).summary() == {"torch": "2.11.0", "device": "cpu"}
