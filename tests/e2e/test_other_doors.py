"""What fails in another door of the compiler: the control that candidates must pass, and a run to its end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Command

from triage.model.rungs import in_place_of
from triage.model.stage import OutcomeKind
from triage.trial.runner import ForkServerRunner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
PROGRAMS = Path(__file__).parents[2] / "reproducers" / "programs"

HEAD = """
import torch

class M(torch.nn.Module):
    def forward(self, x, scale=1):
        assert x.shape[0] == 2
        return x * scale if x.sum() > 0 else x

"""
DOORS = {
    "torch.export": "torch.export.export(M(), (torch.ones({rows}, 3),), {{'scale': 2}})",
    "AOTInductor": "torch._inductor.aot_compile(M(), (torch.ones({rows}, 3),))",
    "torch.onnx.export": "import torch.onnx\ntorch.onnx.export(M(), torch.ones({rows}, 3), dynamo=True)",
    "torch.jit": "torch.jit.trace(M(), torch.ones({rows}, 3)).no_such_name",
    "make_fx": "from torch.fx.experimental.proxy_tensor import make_fx\nmake_fx(M())(torch.ones({rows}, 3)).no_such_name",
}
ENDS_IN_AOTI = """
import torch

class M(torch.nn.Module):
    def forward(self, x):
        return x.relu()

program = torch.export.export(M(), (torch.ones(2),))
torch._inductor.aoti_compile_and_package(program)
raise AssertionError("past the door")
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[ForkServerRunner]:
    made = ForkServerRunner(sys.executable, jobs=2)
    yield made
    made.close()


@pytest.mark.quick
@pytest.mark.parametrize("door", DOORS)
def test_in_the_place_of_the_door_stands_a_call_in_eager(runner: ForkServerRunner, door: str) -> None:
    good, bad = (HEAD + DOORS[door].format(rows=rows) + "\n" for rows in (2, 5))
    assert runner.run(good, rung=in_place_of(door), timeout=60).outcome.kind is OutcomeKind.OK
    failed = runner.run(bad, rung=in_place_of(door), timeout=60).outcome
    assert failed.exception.type.endswith("AssertionError")


@pytest.mark.quick
def test_only_the_door_that_fails_is_replaced(runner: ForkServerRunner) -> None:
    """What is packaged must have been exported: export itself runs, and packaging is a call of the module."""
    done = runner.run(ENDS_IN_AOTI, rung=in_place_of("AOTInductor"), timeout=60)
    assert done.outcome.kind is OutcomeKind.OK


def test_a_failed_export_ends_in_a_reproducer_that_exports(tmp_path: Path) -> None:
    triage = Command(tmp_path)
    shutil.copy(PROGRAMS / "export_data_dependent" / "script.py", tmp_path / "train.py")
    done = triage("run", "--out", "out", "train.py")
    report = triage.report()
    assert (done.returncode, report["verdict"]["door"]) == (0, "torch.export"), done.stdout
    made = report["reproducer"]
    assert made["verified"] and made["control"] == {"rung": "eager in place of torch.export", "outcome": "ok"}
    source = (triage.out / "repro.py").read_text()
    assert "torch.export.export(" in source and "# eager works" in source
    assert "not a compiler bug" not in done.stderr + done.stdout
