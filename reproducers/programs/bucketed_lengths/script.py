"""Batches in buckets of different lengths, whose length the author has marked as dynamic."""

import torch
from torch import nn


class Summary(nn.Module):
    def __init__(self, width=8, window=16):
        super().__init__()
        self.position = nn.Parameter(torch.zeros(window, width))
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return self.mix(x + self.position).mean(1)


torch.manual_seed(0)
model = torch.compile(Summary())
batch = torch.randn(2, 16, 8)
torch._dynamo.mark_dynamic(batch, 1)
print(model(batch).shape)
