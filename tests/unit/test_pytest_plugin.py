"""`pytest --triage`, with a stand-in for the triage itself and for torch: which tests, how many, and where it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import sys, types

def compile_something():
    frames = sys.modules.setdefault("torch._dynamo.convert_frame", types.ModuleType("frames"))
    frames.FRAME_COUNTER = getattr(frames, "FRAME_COUNTER", 0) + 1

def test_plain():
    assert 1 == 2

def test_compiled():
    compile_something()
    assert 1 == 2

def test_after():
    assert 1 == 2

def test_passes():
    compile_something()

def test_compiled_too():
    compile_something()
    assert 1 == 2
"""
STUB = """
import os, triage.testing.after as after

def triaged(command, nodeid, budget):
    assert "PYTEST_XDIST_WORKER" not in os.environ
    return f"found in {nodeid} with {budget:.0f} s: {command[1:]}"

after.triaged = triaged
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_net.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(STUB)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def output_of(project: Path, *options: str, **env: str) -> str:
    plugin = [] if _installed() else ["-p", "triage.testing.plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *options]
    ours = ("TRIAGE_", "PYTEST_")  # of the session that this test is in
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        command, cwd=project, env={**clean, **env}, capture_output=True, text=True, timeout=100
    ).stdout


def _installed() -> bool:
    from importlib.metadata import entry_points

    return "triage.testing.plugin" in {point.value for point in entry_points(group="pytest11")}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_compiled_and_failed_has_a_section(project: Path, workers: tuple[str, ...]) -> None:
    text = output_of(project, "--triage", "--triage-budget", "60", *workers)
    assert "4 failed, 1 passed" in text
    told = [line for line in text.splitlines() if line.startswith("found in ")]
    assert [line.split(" with ")[0] for line in sorted(told)] == [
        "found in test_net.py::test_compiled",
        "found in test_net.py::test_compiled_too",
    ]
    assert "with 60 s: ['-m', 'pytest', '-n0', 'test_net.py::test_compiled']" in text
    assert text.count("- triage -") == 2


def test_no_more_than_asked_for(project: Path) -> None:
    text = output_of(project, "--triage", "--triage-max", "1")
    assert text.count("\nfound in ") == 1
    assert "Not run: --triage-max is 1." in text


def test_what_goes_wrong_costs_no_result(project: Path) -> None:
    (project / "conftest.py").write_text(STUB.replace("return f", "raise RuntimeError('no luck')  #"))
    text = output_of(project, "--triage")
    assert "Not run: no luck" in text
    assert "4 failed, 1 passed" in text


def test_nothing_happens_unasked(project: Path) -> None:
    assert "- triage -" not in output_of(project)


def test_the_test_that_is_triaged_is_not_triaged(project: Path) -> None:
    assert "- triage -" not in output_of(project, "--triage", TRIAGE_AGENT="{}")


def test_the_plugin_loads_nothing() -> None:
    source = (
        "import json, sys; before = set(sys.modules); import triage.testing.plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert {name for name in json.loads(done.stdout) if name.split(".")[0] not in sys.stdlib_module_names} == {
        "triage",
        "triage.testing",
        "triage.testing.plugin",
    }
