"""What README and docs tell a reader to type, typed in a project that has what they name. The tour has a test of its own."""

from __future__ import annotations

import json
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
FINE = "import torch\nprint(torch.compile(torch.sin, backend='eager')(torch.ones(3)))\n"
SWEPT = "triage-out/sweep-20260101-120000"
EARLIER = "train-20260101-120000"
DEMO = "triage run reproducers/"
EVERY_DAY = ("triage explain train.py", "triage run -m pkg.train --steps 2")  # of the whole runs
BISECTS = re.compile(r"triage bisect ")
DIFFERS = {"triage compare": (0, 1), "triage clean": (0, 1)}  # another failure; nobody there to say yes


def files_of(body: str) -> dict[str, str]:
    program, test = PROGRAM.format(body=body), TEST.format(body=body)
    return {
        "train.py": program,
        "pkg/__init__.py": "",
        "pkg/train.py": program,
        "tests/test_model.py": test,
        "tests/test_x.py": test,
        "models/fine.py": FINE,
    }


def typed(line: str, folder: Path, limit: float = 500) -> subprocess.CompletedProcess[str]:
    """By a shell with nobody at its standard input. What comes after the location of a failure costs a minute a run."""
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": found, "TRIAGE_NO_REDUCE": "1", "BROWSER": "true"}
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=limit,
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
    sweep = [sys.executable, "-m", "triage", "sweep", "--quiet", "--out", SWEPT, "models/"]
    subprocess.run(sweep, cwd=fails, env=env, check=True, capture_output=True, timeout=500)
    (made,) = (path for path in (fails / "triage-out").iterdir() if path.name.startswith("train-"))
    shutil.copytree(made, fails / "triage-out" / EARLIER)
    shutil.copytree(made, fails / "triage-run")
    shutil.copy(made / "repro.py", fails / "repro.py")
    return place


def written_in(folder: Path, kind: str) -> set[Path]:
    return {path for path in (folder / "triage-out").glob(f"*/{kind}") if not path.parent.is_symlink()}


EVERY_LINE = sorted(set(to_type()))
LINES = [line for line in EVERY_LINE if not BISECTS.match(line) and not line.startswith(DEMO)]
BISECTIONS = [line for line in EVERY_LINE if BISECTS.match(line)]
SLOW = [line for line in LINES if re.match(r"triage (run|explain)\b", line) and line not in EVERY_DAY]


@pytest.mark.parametrize("line", [pytest.param(line, marks=[pytest.mark.slow] * (line in SLOW)) for line in LINES])
def test_a_documented_command_does_what_it_is_for(line: str, projects: Path, tmp_path: Path) -> None:
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


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of environments of their own, one per release of torch, which all bisections share."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("line", BISECTIONS)
def test_a_documented_bisection_answers(
    line: str, projects: Path, environments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That both ends were asked is ours (if the bad one fails); whether the outcome changes between them is PyTorch's to say."""
    if "--nightly" in line:
        pytest.skip("nightly builds of a past year are not kept")
    shutil.copytree(projects, tmp_path, symlinks=True, dirs_exist_ok=True)
    folder = tmp_path / "fails"
    monkeypatch.setenv("XDG_CACHE_HOME", str(environments))
    if "--target-repo" in line:
        of_its_own(folder)
    done = typed(line, folder, 3500)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (told,) = {path.resolve() for path in (folder / "triage-out").rglob("bisect.json")}  # of a run, beside its report
    found = json.loads(told.read_text())
    assert found["complete"]
    asked = sum(each["verdict"] in ("good", "bad") for each in found["tested"])
    assert asked >= 2 or "where it should fail: nothing to look for" in " ".join(done.stdout.split())
    if "--target-repo" in line:
        assert done.returncode == 0 and found["last_good"] and found["first_bad"]


def of_its_own(folder: Path) -> None:
    """Make the folder a repository whose v1.4 passes and whose main fails."""
    names = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]

    def git(*words: str) -> None:
        subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)

    failing = (folder / "train.py").read_text()
    git("init", "-q", "-b", "main")
    for body, tag in ((failing.replace(FAILS, PASSES), "v1.4"), (failing, "v1.5")):
        (folder / "train.py").write_text(body)
        git("add", "train.py")
        git("commit", "-q", "-m", tag)
        git("tag", tag)
