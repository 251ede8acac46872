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


LOOP = """
import torch

weight = torch.nn.Parameter(torch.randn(64, 64))
opt = torch.optim.AdamW([weight])

@torch.compile
def f(x):
    return torch.nn.functional.gelu(x @ weight) * 2

for _ in range(100_000):
    loss = f(torch.randn(128, 64)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
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
    assert (
        base["processes"] == default["processes"] == 3
        and "in 3 processes each" in (triage.out / "explain.md").read_text()
    )
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


def test_a_step_is_profiled_with_what_was_fused_and_what_is_outside(triage: Command) -> None:
    triage.script(LOOP)
    found = explained(triage, "--profile")
    assert found["modes"] == [] and found["profile_note"] is None
    profile = found["profile"]
    assert any(row["name"] == "aten::gelu" for row in profile["uncompiled"]["operations"])
    kernels = [row for row in profile["compiled"]["operations"] if {"gelu", "mul"} <= set(row["fused"])]
    assert kernels and all(row["inside"] and "cpp_fused_gelu" in row["name"] for row in kernels)
    assert all(not row["inside"] for row in profile["uncompiled"]["operations"])
    fused = next(row for row in profile["fused"] if "gelu" in row["operations"])
    assert fused["seconds"] > 0 and fused["uncompiled_seconds"] > 0
    for step in ("uncompiled", "compiled"):
        trace = json.loads((triage.out / profile[step]["trace"]).read_text())
        assert trace["traceEvents"] and profile[step]["seconds"] > 0
    assert any("optimizer's `step` is not compiled" in line for line in found["outside"])
    page = (triage.out / "explain.md").read_text()
    assert "## Profile of a step" in page and "What was fused" in page and "perfetto" in page


def test_why_there_is_no_profile_is_said(triage: Command) -> None:
    triage.script("import torch\nprint(torch.ones(2))\n")
    found = explained(triage, "--profile")
    assert found["profile"] is None and "made no call of a compiled function" in found["profile_note"]
