"""What README and docs tell a reader to type, typed in a project that has what they name. The tour has a test of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documented import to_type

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("documented")]

FAILS = "torch.nan_to_num(x / x.abs())"  # complex numbers: the decomposition refuses them
PASSES = "torch.nan_to_num(x.abs())"
PROGRAM = """
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
parser.add_argument("--epochs", type=int, default=1)
given = parser.parse_args()


@torch.compile
def step(x):
    return {body}


for _ in range(given.steps * given.epochs):
    print(step(torch.ones(4, dtype=torch.complex64)).sum())
"""
TEST = """
import torch


def test_step():
    x = torch.ones(4, dtype=torch.complex64)
    torch.compile(lambda x: {body})(x)
"""
EARLIER = "train-20260101-120000"
DEMO = "triage run reproducers/"
EVERY_DAY = ("triage explain train.py", "triage run -m pkg.train --steps 2")  # of the whole runs
DOWNLOADS = re.compile(r"triage bisect ")
ELSEWHERE = {"accelerate": "a launcher that triage does not install"}
DIFFERS = {"triage compare": (0, 1), "triage clean": (0, 1)}  # another failure; nobody there to say yes


def files_of(body: str) -> dict[str, str]:
    program, test = PROGRAM.format(body=body), TEST.format(body=body)
    return {
        "train.py": program,
        "pkg/__init__.py": "",
        "pkg/train.py": program,
        "tests/test_model.py": test,
        "tests/test_x.py": test,
    }


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """By a shell with nobody at its standard input. What comes after the location of a failure costs a minute a run."""
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": found, "TRIAGE_NO_REDUCE": "1", "BROWSER": "true"}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=500
    )


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`fails`, where a run has been made, its reproducer taken into the project; and `passes`, for what is explained."""
    place = tmp_path_factory.mktemp("projects")
    for name, body in (("fails", FAILS), ("passes", PASSES)):
        for path, text in files_of(body).items():
            (place / name / path).parent.mkdir(parents=True, exist_ok=True)
            (place / name / path).write_text(text)
        (place / name / "venv").symlink_to(sys.prefix)
    fails = place / "fails"
    (place / "other" / "triage-out").mkdir(parents=True)
    env = {**os.environ, "TRIAGE_REPRODUCER_ONLY": "1"}
    words = [sys.executable, "-m", "triage", "run", "--quiet", "train.py"]
    subprocess.run(words, cwd=fails, env=env, check=True, capture_output=True, timeout=500)
    (made,) = (path for path in (fails / "triage-out").iterdir() if path.is_dir() and not path.is_symlink())
    shutil.copytree(made, fails / "triage-out" / EARLIER)
    shutil.copytree(made, fails / "triage-run")
    shutil.copy(made / "repro.py", fails / "repro.py")
    return place


def written_in(folder: Path, kind: str) -> set[Path]:
    return {path for path in (folder / "triage-out").glob(f"*/{kind}") if not path.parent.is_symlink()}


LINES = [line for line in sorted(set(to_type())) if not DOWNLOADS.match(line) and not line.startswith(DEMO)]
SLOW = [line for line in LINES if re.match(r"triage (run|explain)\b", line) and line not in EVERY_DAY]


@pytest.mark.parametrize("line", [pytest.param(line, marks=[pytest.mark.slow] * (line in SLOW)) for line in LINES])
def test_a_documented_command_does_what_it_is_for(line: str, projects: Path, tmp_path: Path) -> None:
    for program, why in ELSEWHERE.items():
        if f" {program} " in line:
            pytest.skip(f"{program}: {why}")
    shutil.copytree(projects, tmp_path, symlinks=True, dirs_exist_ok=True)
    folder = tmp_path / ("passes" if line.startswith("triage explain") else "fails")
    if "--out triage-run" in line:
        shutil.rmtree(folder / "triage-run")
    before = written_in(folder, "report.md")
    done = typed(line, folder)
    expected = next((statuses for start, statuses in DIFFERS.items() if line.startswith(start)), (0,))
    assert done.returncode in expected, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if re.match(r"triage (run|explain)\b(?!.*--(out|resume))", line):
        kind = "explain.md" if line.startswith("triage explain") else "report.md"
        assert written_in(folder, kind) - before
    for written in re.findall(r"> (\S+)", line):
        assert (folder / written).stat().st_size
