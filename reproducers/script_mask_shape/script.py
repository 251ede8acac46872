"""Attention with a mask of the wrong shape: fails without torch.compile too, in other words."""

import torch


class Attention(torch.nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) + mask
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)


torch.manual_seed(0)
attention = torch.compile(Attention(16, 4))
mask = torch.full((9, 9), float("-inf")).triu(1)  # the sequences have 10 tokens
print(attention(torch.randn(2, 10, 16), mask).shape)
