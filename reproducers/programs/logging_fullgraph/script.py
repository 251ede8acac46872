"""A model that logs what it sees, compiled as one graph."""

import dataclasses
import logging

import torch
from torch import nn

log = logging.getLogger("model")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    scale: float


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        hidden = self.body(x).tanh()
        level = hidden.abs().mean().item()
        if level > 10:
            log.warning("activations are large: %s", level)
        return Output(hidden * self.scale, level)


model = torch.compile(Model(), fullgraph=True)
print(model(torch.randn(2, 8)).logits.shape)
