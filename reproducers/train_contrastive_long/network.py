"""The encoder, its slowly moving copy, and the queue of earlier keys."""

from __future__ import annotations

import copy
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mixer(nn.Module):
    """One residual block: mixes along time, then along channels."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.along_time = nn.Linear(patches, patches)
        self.expand, self.shrink = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.along_time(self.before(x).transpose(1, 2)).transpose(1, 2)
        return x + self.shrink(F.gelu(self.expand(self.between(x))))


class Encoder(nn.Module):
    """Cuts a trace into patches and returns one unit vector for it."""

    def __init__(self, length: int, width: int, patch: int = 8, depth: int = 2) -> None:
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch, width)
        self.position = nn.Parameter(0.02 * torch.randn(length // patch, width))
        self.blocks = nn.ModuleList(Mixer(length // patch, width) for _ in range(depth))
        self.project = nn.Linear(width, width, bias=False)

    def forward(self, traces: torch.Tensor) -> torch.Tensor:
        x = self.embed(traces.unflatten(-1, (-1, self.patch))) + self.position
        for block in self.blocks:
            x = block(x)
        return F.normalize(self.project(x.mean(dim=1)), dim=-1)


class KeyQueue(nn.Module):
    """The keys of the last few batches, newest first; a ring of fixed length."""

    def __init__(self, slots: int, batch: int, width: int) -> None:
        super().__init__()
        self.ring: deque[torch.Tensor] = deque(
            (F.normalize(torch.randn(batch, width), dim=-1) for _ in range(slots)), maxlen=slots
        )

    def forward(self, keys: torch.Tensor) -> torch.Tensor:
        negatives = torch.cat(list(self.ring))
        self.ring.rotate(1)
        self.ring.popleft()
        self.ring.appendleft(keys.detach())
        return negatives


class Contrast(nn.Module):
    def __init__(self, encoder: Encoder, slots: int, batch: int, momentum: float) -> None:
        super().__init__()
        self.online = encoder
        self.target = copy.deepcopy(encoder).requires_grad_(False)
        self.queue = KeyQueue(slots, batch, encoder.project.out_features)
        self.momentum = momentum

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        query = self.online(first)
        with torch.no_grad():
            key = self.target(second)
        return query, key, self.queue(key)

    @torch.no_grad()
    def update_target(self) -> None:
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(fast, 1 - self.momentum)
