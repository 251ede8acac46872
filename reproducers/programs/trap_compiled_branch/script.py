"""A mask that is applied in place in eager and by torch.where where the program is compiled: there its shape does not fit."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int = 24, heads: int = 3):
        super().__init__()
        self.heads = heads
        self.inner = nn.Linear(width, 3 * width)
        self.outer = nn.Linear(width, width)

    def forward(self, x, kept):
        batch, time, width = x.shape
        q, k, v = self.inner(x).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / math.sqrt(width // self.heads)
        if torch.compiler.is_compiling():
            scores = torch.where(kept[:, None], scores, float("-inf"))
        else:
            scores.masked_fill_(~kept[:, None, None], float("-inf"))
        return self.outer((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, time, width))


if __name__ == "__main__":
    torch.manual_seed(3)
    model = Attention().eval()
    x, kept = torch.randn(2, 5, 24), torch.arange(5) < torch.tensor([[5], [2]])
    with torch.no_grad():
        expected = model(x, kept)
        torch.testing.assert_close(torch.compile(model)(x, kept), expected)
