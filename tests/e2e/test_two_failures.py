"""A program with two failures: Inductor's in its first compiled call, AOTAutograd's in the second. Told is what it dies of."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
# The second is pytorch/pytorch#198095: an argument is a view of another one, which is written to.
SCRIPT = """
import torch
import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


@torch.compile
def encode(x):
    return (x @ x.T).relu().sum()


@torch.compile
def shift(base, part):
    base.add_(100)
    return part[0]


print("loss", encode(torch.randn(8, 8)).item())
base = torch.arange(24, dtype=torch.float64).reshape(4, 6)
print("moved", shift(base, base[1:]).sum().item())
"""


def test_the_failure_that_the_program_dies_of_is_located_and_the_other_one_told(tmp_path: Path) -> None:
    command = Command(tmp_path)
    done = command("run", "--out", "out", command.script(SCRIPT))
    report = command.report()
    assert report["verdict"]["stage"] == "inductor" and report["verdict"]["symptom"] == "exception", done.stderr
    assert report["signature"]["exception_type"] == "CppCompileError"
    assert "`aot_eager_decomp_partition` comes past this failure, `inductor` is" in report["verdict"]["summary"]
    below = {row["rung"]: row for row in report["ladder"]}["aot_eager_decomp_partition"]
    assert below["outcome"] == "ok" and "past the point of the failure, it fails by AssertionError" in below["note"]
    assert not any("aot_eager" in text for text in report["workarounds"])
    assert any("The script has another failure" in note and "AssertionError" in note for note in report["notes"])
    made = report["reproducer"]
    assert made["verified_runs"] == 3 and made["ops"] == 1
