"""A check of the program's own that rounding fails, in ways that look like more: nobody is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

STEPS = """
import torch

torch.manual_seed(0)
w = torch.randn(64, 64)
edges = torch.linspace(-20, 20, 4001)


def histogram(x):
    h = torch.nn.functional.gelu(x @ w)
    h = torch.tanh(h / 10) * torch.exp(-h * h / 500) * 17
    return torch.bucketize(h, edges).flatten().bincount(minlength=4002)


x = torch.randn(4096, 64)
assert torch.equal(torch.compile(histogram)(x), histogram(x)), "histograms differ"
"""
GOES_ON = """
import torch

torch.manual_seed(1)


def step(x):
    return 1 - 1.99 * x * x + 0.005 * torch.sin(x) * torch.exp(-x) * torch.tanh(x)


fast = torch.compile(step)
a = b = torch.rand(1000)
for _ in range(300):
    a, b = fast(a), step(b)
torch.testing.assert_close(a, b)
"""


@pytest.mark.parametrize(
    ("source", "words"), [(STEPS, "on its other side"), (GOES_ON, "with every step")], ids=["steps", "goes on"]
)
def test_it_is_rounding(tmp_path: Path, source: str, words: str) -> None:
    command = Command(tmp_path)
    done = command("run", "--out", "out", command.script(source))
    assert done.returncode == 1, done.stdout + done.stderr
    found = command.report()
    verdict = found["verdict"]
    assert (verdict["stage"], verdict["symptom"]) == ("none", "rounding")
    assert any(words in note for note in found["notes"])
