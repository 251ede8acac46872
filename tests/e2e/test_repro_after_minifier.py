"""PyTorch's own minifier on real failures: what holds is printed and verified, what drifts is said and never returned."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from triage.judge.oracle import SignatureOracle
from triage.model.stage import Stage, Verdict
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.reduce.minifier.engine import ReproAfterEngine
from triage.reduce.minifier.launcher import Workbench
from triage.session.clock import Clock
from triage.session.session import neutral_store
from triage.trial.fresh import Fresh, verify
from triage.trial.interface import Resources
from triage.trial.runner import ForkServerRunner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(580)]

HEAD = """\
import torch
torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"
torch.manual_seed(0)
"""
BURIED_RELU = (
    HEAD
    + """\
lin = torch.nn.Linear(8, 8)

def f(x):
    y = lin(x).sin() + torch.arange(8)
    return (torch.relu(y) * 2).cos().sum()

torch.compile(f)(torch.randn(4, 8)).backward()
"""
)
# PyTorch writes a constant of more than four integers into its launcher as zeros, and these divide.
NEEDS_ITS_CONSTANT = (
    HEAD
    + """\
def f(x):
    steps = torch.tensor([1, 2, 3, 4, 5, 6, 7, 8])
    return torch.relu((x // steps).float().sin()) + 1

torch.compile(f)(torch.arange(32).reshape(4, 8))
"""
)


@pytest.fixture(scope="module")
def runner() -> Iterator[ForkServerRunner]:
    made = ForkServerRunner(sys.executable, jobs=1, neutral=neutral_store())
    yield made
    made.close()


def engine_on(
    script: str, tmp_path: Path, runner: ForkServerRunner
) -> tuple[Reduction | NoReduction, SignatureOracle, list[str]]:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "repro.py").write_text("# the user's own file\n")
    (tmp_path / "home" / "train.py").write_text(script)
    target = Target(sys.executable, (sys.executable, "train.py"), tmp_path / "home")
    seen = run_probe(ProbeRequest("first", target, "inductor", 200.0, tmp_path, neutral=neutral_store()))
    assert seen.signature is not None
    oracle = SignatureOracle(seen.signature)
    (tmp_path / "reduce").mkdir()
    problem = Problem(seen.signature, Stage.INDUCTOR, "inductor", "forward", (), tmp_path / "reduce")
    engine = ReproAfterEngine(target, tmp_path, neutral=neutral_store())
    steps: list[str] = []

    def emit(kind: str, **facts: Any) -> None:
        assert kind == "engine_step"
        steps.append(facts["text"])

    found = engine.reduce(problem, Resources(runner, oracle, Clock(400.0), emit))
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["repro.py", "train.py"]
    assert (tmp_path / "home" / "repro.py").read_text() == "# the user's own file\n"
    return found, oracle, steps


@pytest.mark.slow
def test_a_result_that_holds_is_printed_as_plain_pytorch(tmp_path: Path, runner: ForkServerRunner) -> None:
    found, oracle, steps = engine_on(BURIED_RELU, tmp_path, runner)

    assert isinstance(found, Reduction), found
    assert (found.engine, found.case, found.ops, found.complete) == ("repro_after", "graph", 1, True)
    assert "torch.relu(" in found.source or ".relu()" in found.source
    assert found.source.startswith("# CppCompileError: ") and "\n# Stage inductor" in found.source
    assert 'os.environ.get("TORCH_COMPILE_BACKEND", "inductor")' in found.source
    for foreign in ("torch._dynamo.repro", "Repro", "triage", str(tmp_path), "/tmp"):
        assert foreign not in found.source
    assert found.queries > 3 and not found.minimal
    assert (tmp_path / "reduce" / "repro_after" / "minifier_launcher.py").is_file()
    assert any("REPRO_AFTER=aot" in step for step in steps)
    (again,) = verify(found.source, sys.executable, Fresh(neutral=neutral_store()), runs=1)
    assert oracle.judge(again).verdict is Verdict.SAME_FAILURE


@pytest.mark.slow
def test_a_lost_tensor_constant_is_said_and_nothing_is_returned(tmp_path: Path, runner: ForkServerRunner) -> None:
    found, _, _ = engine_on(NEEDS_ITS_CONSTANT, tmp_path, runner)

    assert isinstance(found, NoReduction), found
    assert "drifted to another error" in found.reason
    assert "other numbers in the place of the tensor constant _tensor_constant0" in found.reason


STUCK_LAUNCHER = """\
import pathlib, subprocess, sys, time
query = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[-1]).write_text(str(query.pid))
pathlib.Path("checkpoints").mkdir()
pathlib.Path("checkpoints/3.py").write_text("os.environ['TORCH_TRACE'] = '/tmp/x'\\nmod = Repro()\\n")
print("half-way", flush=True)
time.sleep(600)
"""


def test_a_stuck_launcher_is_ended_with_its_children_and_what_it_wrote_counts(tmp_path: Path) -> None:
    target = Target(sys.executable, (sys.executable, "train.py"), tmp_path)
    pid = tmp_path / "pid"
    with Workbench(target, tmp_path, tmp_path / "keep", None) as bench:
        ended = bench.minify(STUCK_LAUNCHER, (str(pid),), 5.0)

    assert ended.timed_out and "half-way" in ended.output
    assert [item.source for item in ended.checkpoints] == ["mod = Repro()\n"]
    assert (tmp_path / "keep" / "checkpoints" / "3.py").is_file()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
