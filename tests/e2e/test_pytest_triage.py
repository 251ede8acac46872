"""`pytest --triage` on a real failure: located, and told in the failure's own output. Reduction is left out for time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

TESTS = """
import torch

def test_eager():
    assert torch.ones(2).sum() == 3

def test_compiled():
    f = torch.compile(lambda x: torch.nan_to_num(x))
    f(torch.ones((), dtype=torch.complex64))
"""


def test_a_failing_test_is_triaged(tmp_path: Path) -> None:
    (tmp_path / "test_net.py").write_text(TESTS)
    plugin = [] if _installed() else ["-p", "triage.testing.plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, "--triage", "--triage-budget", "500"]
    environment = {**os.environ, "TRIAGE_REDUCE": "no", "TRIAGE_ACCURACY": "never"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=580)
    assert "2 failed" in done.stdout
    assert done.stdout.count("- triage -") == 1
    assert "\nstage decomp_partition: " in done.stdout
    (report,) = (tmp_path / "triage-out").glob("pytest-test-net-py--test-compiled/report.html")
    assert f"report: {report.relative_to(tmp_path)}" in done.stdout


def _installed() -> bool:
    from importlib.metadata import entry_points

    return "triage.testing.plugin" in {point.value for point in entry_points(group="pytest11")}
