"""A check of the program's own that rounding fails, in ways that look like more: nobody is blamed. And one that it does not."""

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


KEPT_PRECISE = """
import torch

torch.manual_seed(0)
first = torch.nn.Linear(16, 16)
head = torch.nn.Parameter(torch.randn(4, 16))


def scores(x):
    hidden = torch.tanh(first(x))
    with torch.autocast("cpu", enabled=False):
        return hidden.float() @ head.T


def gradient(call, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.logsumexp(call(x), 1).sum()
    return torch.autograd.grad(loss, head)[0]


x = torch.randn(64, 16)
want, got = gradient(scores, x), gradient(torch.compile(scores), x)
assert (want - got).abs().max() < 1e-5, "the head's gradient is not that of float32"
"""


def test_a_backward_pass_that_is_cast_as_the_call_was_is_no_rounding(tmp_path: Path) -> None:
    """pytorch#179804: beside what eager computes in bfloat16, its own rounding explains as much."""
    command = Command(tmp_path)
    done = command("run", "--reproducer-only", "--out", "out", command.script(KEPT_PRECISE))
    assert done.returncode == 0, done.stdout + done.stderr
    found = command.report()
    assert (found["verdict"]["stage"], found["verdict"]["symptom"]) == ("aot_autograd", "wrong_result")
    assert any("backward_pass_autocast" in note for note in found["notes"])
    assert found["reproducer"]["verified"] and found["reproducer"]["ops"] == 1
    assert "@" in (tmp_path / "out" / "repro.py").read_text()


REFINED = """
import torch


@torch.compile(backend="aot_eager")
def refine(estimate, target):
    view = torch.nn.functional.dropout(estimate, 0.1, training=False)
    view += 0.5 * (target - view)
    return view * 2


with torch.inference_mode():
    estimate = torch.ones(4)
    refine(estimate, torch.zeros(4))
    assert estimate.max() < 0.9, "not refined"
"""


def test_a_write_that_is_lost_in_inference_mode_is_no_rounding(tmp_path: Path) -> None:
    """In inference mode a dropout that is off comes whole to what nudges operations, and gives its input back."""
    command = Command(tmp_path)
    done = command("run", "--no-reduce", "--out", "out", command.script(REFINED))
    assert done.returncode == 0, done.stdout + done.stderr
    found = command.report()
    assert (found["verdict"]["stage"], found["verdict"]["symptom"]) == ("aot_autograd", "wrong_result")
    assert found["signature"]["wrong"]["kind"] == "mutation"
