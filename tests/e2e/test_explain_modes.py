"""`triage explain --modes`: real programs in real modes, measured in turns; wrong results are noticed, and all of it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WRONG = """
import torch
import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"

@torch.compile
def f(x):
    return torch.relu(x) * 2

for _ in range(100_000_000):  # nobody waits for its end
    f(torch.randn(20_000))
"""
ONCE = """
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
run = torch.compile(net, backend="aot_eager")
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def train_step(x, y):
    loss = nn.functional.cross_entropy(run(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

train_step(torch.randn(64, 16), torch.randint(0, 4, (64,)))
"""


@pytest.fixture
def triage(tmp_path: Path) -> Command:
    return Command(tmp_path)


def explained(triage: Command, *words: str) -> dict[str, Any]:
    done = triage("explain", "--quiet", "--out", "out", *words, "train.py")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((triage.out / "explain.json").read_text())
    return found


def test_an_endless_program_is_measured_and_its_wrong_results_are_noticed(triage: Command) -> None:
    triage.script(WRONG)
    found = explained(triage, "--mode", "default")
    base, default = found["modes"]
    assert (base["name"], default["name"]) == ("uncompiled", "default")
    assert base["outcome"] == default["outcome"] == "measured" and base["rounds"] == default["rounds"] >= 6
    assert default["step"]["low"] <= default["step"]["value"] <= default["step"]["high"]
    assert default["compile_seconds"] > 0 and default["peak_bytes"] > 10**8 and not default["repeated"]
    assert default["wrong"] and default["compared"] and base["wrong"] is None
    page = (triage.out / "explain.md").read_text()
    assert "WRONG RESULTS" in page and "--whole" in page and "No mode that was measured gives right results" in page


def test_a_step_of_the_program_itself_that_is_made_once(triage: Command) -> None:
    triage.script(ONCE)
    found = explained(triage, "--step", "train_step", "--mode", "dynamic=True", "--mode", "tvm")
    base, dynamic, missing = found["modes"]
    assert found["step_function"] == "train_step" and found["incomplete_reason"] is None
    assert base["outcome"] == dynamic["outcome"] == "measured" and base["repeated"] and dynamic["repeated"]
    assert dynamic["compared"] and dynamic["wrong"] is None
    assert missing["outcome"] == "failed" and "tvm" in missing["reason"] and missing["step"] is None
    assert (triage.folder / "train.py").read_text() == ONCE


@pytest.mark.quick
@pytest.mark.parametrize(("words", "told"), [(("--step", "evaluate"), "There is no function evaluate")])
def test_what_there_is_not_is_said_before_anything_runs(triage: Command, words: tuple[str, ...], told: str) -> None:
    triage.script(ONCE)
    done = triage("explain", "--out", "out", *words, "train.py")
    assert done.returncode == 2 and told in done.stderr and "next:" in done.stderr
