"""A program with four graph breaks and a recompilation, and the same with each line mended as `triage explain` says it."""

from __future__ import annotations

FOUR_BREAKS = """
import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(8, 8)
        self.seen = {}

    def forward(self, x):
        h = self.lin(x)
        assert torch.all(h < 1e6), f"too large: {h.max()}"
        self.seen["mean"] = h.mean().item()
        h = smoothed(h * 2)
        h = noisy(h)
        return noisy(h).cos()


def smoothed(h):
    total = 0.0
    for value in h.detach().numpy()[0]:
        total += float(value.tobytes()[0])
    return h + total


def noisy(x):
    print("mean", x.mean())
    return x + 1


@torch.compile(backend="eager", dynamic=False)
def loss(x):
    return (x.sin() ** 2).sum()


net = torch.compile(Net(), backend="eager")
for length in range(4, 8):
    loss(net(torch.randn(3, 8))[:, :length])
"""
# Each line mended as explain says it.
MENDED = (
    FOUR_BREAKS.replace(', f"too large: {h.max()}"', ', "too large"')
    .replace(
        "h.detach().numpy()[0]:\n        total += float(value.tobytes()[0])",
        "h.detach()[0]:\n        total = total + value",
    )
    .replace(
        "net = torch.compile",
        "torch._dynamo.config.capture_scalar_outputs = True\n"
        "torch._dynamo.config.reorderable_logging_functions.add(print)\nnet = torch.compile",
    )
    .replace("dynamic=False", "dynamic=True")
    .replace("self.seen = {}", 'self.seen = {"mean": 0.0}')
)


def lines_of(source: str, *texts: str) -> list[int]:
    lines = source.splitlines()
    return [next(number for number, line in enumerate(lines, 1) if text in line) for text in texts]
