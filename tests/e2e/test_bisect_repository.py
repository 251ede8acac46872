"""`triage bisect --target-repo` on a real repository with real torch: found, interrupted, taken up again, told in JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")]

SCRIPT = """import torch
from helper import scale
f = torch.compile(lambda x: x * scale(), backend="eager")
assert f(torch.ones(2)).tolist() == [2.0, 2.0], "wrong scale"
"""
START = "from triage.cli.app import main; main()"


def git(place: Path, *words: str) -> str:
    names = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *names, *words], cwd=place, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, list[str]]:
    """Six commits; the third breaks an imported helper, and the fifth cannot be imported at all."""
    place = tmp_path / "project"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    (place / "train.py").write_text(SCRIPT)
    shas = []
    helpers = ["return 2", "return 1 + 1", "return 3", "return 3.0", "return (", "return 3 * 1"]
    for number, body in enumerate(helpers):
        (place / "helper.py").write_text(f"def scale():\n    {body}\n")
        git(place, "add", "-A")
        git(place, "commit", "-q", "-m", f"step {number}")
        shas.append(git(place, "rev-parse", "HEAD"))
    return place, shas


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", START, "bisect", "--target-repo", ".", "--repeats", "1", *words]


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_the_commit_that_broke_it_is_found(project, tmp_path):
    place, shas = project
    words = command("train.py", "--good", shas[0], "--bad", "HEAD", "--out", "found", "--json")
    done = subprocess.run(words, cwd=place, env=environment(tmp_path), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    tree = json.loads(done.stdout)
    assert tree == json.loads((place / "found" / "bisect.json").read_text())
    assert (tree["last_good"], tree["first_bad"]) == (shas[1][:12], shas[2][:12])
    assert (tree["kind"], tree["axis"], tree["installs"], tree["complete"]) == ("regressed", "commit", 0, True)
    assert tree["failure"] == "AssertionError: wrong scale"
    assert git(place, "worktree", "list").count("\n") == 0
    assert git(place, "status", "--porcelain") == "?? found/"
    assert shas[2][:12] in (place / "found" / "bisect.md").read_text()


def test_interrupted_and_started_again_it_gives_the_same_answer(project, tmp_path):
    place, shas = project
    words = command("train.py", "--good", shas[0], "--bad", "HEAD", "--out", "found", "--linear", "--quiet")
    env = environment(tmp_path)
    victim = subprocess.Popen(words, cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120
    state = place / "found" / "bisect-state.json"
    while not (state.exists() and json.loads(state.read_text())["results"]):
        assert victim.poll() is None and time.monotonic() < limit
        time.sleep(0.05)
    victim.send_signal(signal.SIGINT)
    assert victim.wait(60) == 130, victim.stderr.read() if victim.stderr else ""
    partial = json.loads((place / "found" / "bisect.json").read_text())
    assert (partial["complete"], partial["incomplete_reason"]) == (False, "interrupted")
    tested = [row["version"] for row in partial["tested"]]
    assert tested
    assert git(place, "worktree", "list").count("\n") == 0

    done = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    tree = json.loads((place / "found" / "bisect.json").read_text())
    assert (tree["last_good"], tree["first_bad"]) == (shas[1][:12], shas[2][:12])
    assert len(tree["tested"]) == 6
    assert [row["version"] for row in tree["skipped"]] == [shas[4][:12]]
    assert tree["monotone"] is True
    journal = [json.loads(line) for line in (place / "found" / "journal.jsonl").read_text().splitlines()]
    ended = [event["version"] for event in journal if event["kind"] == "version_ended"]
    assert sorted(ended) == sorted({*ended})  # nothing was tested twice


def test_a_directory_that_holds_another_question_is_refused(project, tmp_path):
    place, shas = project
    (place / "found").mkdir()
    (place / "found" / "bisect-state.json").write_text('{"schema": 99}')
    words = command("train.py", "--good", shas[0], "--bad", "HEAD", "--out", "found")
    done = subprocess.run(words, cwd=place, env=environment(tmp_path), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "holds no bisection that can be taken up" in done.stderr
