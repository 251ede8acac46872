"""Building blocks: attention, feed-forward, and an embedding with hashed positions."""

import math
import zlib

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape

        def split(t: torch.Tensor) -> torch.Tensor:
            return t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(~mask[:, None, None, :], -1e9)
        weights = self.dropout(F.softmax(scores, dim=-1))
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, width: int, factor: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.up = nn.Linear(width, factor * width)
        self.down = nn.Linear(factor * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.dropout(F.gelu(self.up(x))))


class LayerScale(nn.Module):
    """A gain per channel that depends on the layer through a table shared by all layers."""

    def __init__(self, table: nn.Embedding, layer: int) -> None:
        super().__init__()
        self.table = table
        self.layer = layer

    def slot(self, role: str) -> int:
        """Which row of the table: a hash, so that layers may be added later."""
        return zlib.crc32(f"{role}/{self.layer}".encode()) % self.table.num_embeddings

    def forward(self, x: torch.Tensor, role: str) -> torch.Tensor:
        gain = self.table.weight[self.slot(role)]
        return x * (1.0 + torch.tanh(gain))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, table: nn.Embedding, layer: int, dropout: float) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.norm_feed = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.feed = FeedForward(width, dropout=dropout)
        self.scale = LayerScale(table, layer)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x + self.scale(self.attention(self.norm_attention(x), mask), "attention")
        return x + self.scale(self.feed(self.norm_feed(x)), "feed")
