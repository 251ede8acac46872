"""What is told of the target interpreter."""

import subprocess
import sys

import pytest

from triage.agent.programs import environment


def test_packages_are_listed_as_pip_lists_them() -> None:
    pytest.importorskip("pip")
    command = [sys.executable, "-mpip", "list", "--format=freeze"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert environment._listed_here(command) == (0, printed.strip(), "")
    assert environment._listed_here([sys.executable, "-V"]) is None
