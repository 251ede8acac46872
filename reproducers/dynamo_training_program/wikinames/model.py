"""The classifier: letters in, one of two languages out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn as nn

from .layers import Block


@dataclass
class ModelConfig:
    width: int = 64
    heads: int = 4
    layers: int = 4
    buckets: int = 128
    dropout: float = 0.1
    vocabulary: str = "abcdefghijklmnopqrstuvwxyz"
    length: int = 12
    classes: int = 2

    @classmethod
    def load(cls, path: Path) -> ModelConfig:
        with path.open() as file:
            return cls(**json.load(file))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2))


class Classifier(nn.Module):
    def __init__(self, config: ModelConfig, letters: int) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(letters, config.width, padding_idx=0)
        self.position = nn.Parameter(torch.zeros(config.length, config.width))
        table = nn.Embedding(config.buckets, config.width)
        nn.init.zeros_(table.weight)
        self.blocks = nn.ModuleList(
            Block(config.width, config.heads, table, layer, config.dropout) for layer in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.classes)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        mask = letters != 0
        x = self.embed(letters) + self.position[: letters.shape[1]]
        for block in self.blocks:
            x = block(x, mask)
        kept = mask.unsqueeze(-1).to(x.dtype)
        pooled = (self.norm(x) * kept).sum(1) / kept.sum(1).clamp(min=1.0)
        return self.head(pooled)
