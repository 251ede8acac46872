"""Real releases of torch from the configured index: minutes and gigabytes, so only with `pytest -m slow`.

The script is pytorch/pytorch#176851 (a class attribute that changes between calls is not guarded): it fails up to 2.11 and
passes from 2.12 on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3600)]

SCRIPT = """import torch
class State:
    factor = 1.0
def f(x):
    return x * State.factor
c = torch.compile(f, backend="eager")
x = torch.tensor([4.0])
c(x)
State.factor = 10.0
got, want = c(x), f(x)
assert torch.allclose(got, want), f"stale constant: compiled {got.item()} eager {want.item()}"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bisect")
    (made / "script.py").write_text(SCRIPT)
    return made


def start(place: Path, out: str) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-m",
        "triage",
        "bisect",
        "script.py",
        "--versions",
        "2.11.0,2.12.1",
        "--find-fix",
        "--out",
        out,
    ]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(place / "cache")}
    return subprocess.Popen(words, cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def journal(place: Path, out: str) -> list[dict[str, object]]:
    path = place / out / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_interrupted_in_the_middle_of_an_installation_the_answer_is_the_same(place: Path):
    victim = start(place, "found")
    while not any(event["kind"] == "install_started" for event in journal(place, "found")):
        assert victim.poll() is None
        time.sleep(0.1)
    time.sleep(3)
    victim.send_signal(signal.SIGINT)
    assert victim.wait(120) == 130
    environments = place / "cache" / "triage" / "environments"
    assert not list(environments.glob("torch-*")) and not list(environments.glob(".making-*"))

    again = start(place, "found")
    _, err = again.communicate()
    assert again.returncode == 0, err
    tree = json.loads((place / "found" / "bisect.json").read_text())
    assert (tree["last_bad"], tree["first_fixed"], tree["complete"]) == ("2.11.0", "2.12.1", True)
    assert tree["installs"] == 2
    assert all(len(row["git_version"]) == 40 for row in tree["tested"])
    assert tree["commits"]["url"].startswith("https://github.com/pytorch/pytorch/compare/")


def test_what_was_made_is_not_made_again(place: Path):
    done = start(place, "again")
    _, err = done.communicate()
    assert done.returncode == 0, err
    assert json.loads((place / "again" / "bisect.json").read_text())["installs"] == 0
    assert not any(event["kind"] == "install_started" for event in journal(place, "again"))
