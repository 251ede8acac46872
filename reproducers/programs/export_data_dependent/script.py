"""Exports a model that chooses its way by its data."""

import torch
from torch import nn


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        if x.abs().sum() > 4:
            return self.large(x)
        return self.small(x)


program = torch.export.export(Router(), (torch.randn(2, 4),))
print(program.graph)
