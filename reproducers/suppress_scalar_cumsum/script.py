"""Swallows compile errors on purpose: exits with 0, and runs eagerly without a word on standard output."""

import torch
import torch._dynamo

torch._dynamo.config.suppress_errors = True


class Annealed(torch.nn.Module):
    """A temperature that grows with the number of calls; the counter is a 0-d constant."""

    def __init__(self) -> None:
        super().__init__()
        self.score = torch.nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tick = torch.full((), 0.25).cumsum(dim=0)
        return (self.score(x) / (1 + tick)).softmax(dim=-1)


torch.manual_seed(0)
policy = torch.compile(Annealed())
print(policy(torch.randn(2, 5)).sum().item())
