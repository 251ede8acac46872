"""A size marked as dynamic that the program makes a constant: by which operation is all that tells two such failures apart."""

import sys
from pathlib import Path

import pytest

from triage.judge.likeness import same_face, same_failure
from triage.judge.signature import FailureSignature
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.session.session import neutral_store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PROGRAM = """
import torch

scale, layer = torch.ones(8, 1), torch.nn.Linear(8, 2)


def forward(x):
    y = torch.relu(x)
    return {}


x = torch.randn(8, 8) if "scale" in {!r} else torch.randn(8)
torch._dynamo.mark_dynamic(x, 0)
torch.compile(forward, backend="eager")(x)
"""


def signature(folder: Path, expression: str) -> FailureSignature:
    folder.mkdir()
    (folder / "x.py").write_text(PROGRAM.format(expression, expression))
    target = Target(sys.executable, (sys.executable, "x.py"), folder)
    probe = run_probe(
        ProbeRequest("p", target, None, 100.0, folder / "run", verbose_logs=False, neutral=neutral_store())
    )
    assert probe.signature is not None
    return probe.signature


def test_another_operation_that_makes_the_constant_is_another_failure(tmp_path: Path) -> None:
    star, torchs, layer = (
        signature(tmp_path / str(number), expression)
        for number, expression in enumerate(("y * scale", "torch.mul(y, scale) + 1", "layer(y)"))
    )
    assert star.exception_type == "ConstraintViolationError"
    assert star.specialised_by == ("mul",) and torchs.specialised_by == ("add", "mul")
    assert layer.specialised_by == ("linear",)
    assert same_failure(star, torchs) and not same_failure(star, layer)
    assert same_face(star, layer) and star.frames == layer.frames
