"""sin(x) + cos(x), called in a loop."""

import torch

torch.manual_seed(0)


@torch.compile
def f(x):
    return torch.sin(x) + torch.cos(x)


x = torch.randn(300_000)
for _ in range(5):
    f(x)
