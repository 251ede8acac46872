"""Synthetic sensor traces and the random views that contrastive training compares."""

from __future__ import annotations

import math

import torch
from torch.utils.data import Dataset


class TraceDataset(Dataset):
    """Damped oscillations with a drift; the class is the frequency band."""

    bands = ((1.0, 2.0), (3.0, 5.0), (7.0, 9.0))

    def __init__(self, count: int, length: int, seed: int) -> None:
        self.length = length
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(self.bands), (count,), generator=generator)
        self.noise = torch.randn(count, length, generator=generator)
        self.unit = torch.rand(count, 3, generator=generator)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        label = int(self.labels[index])
        low, high = self.bands[label]
        position, damping, drift = self.unit[index].tolist()
        time = torch.linspace(0, 1, self.length)
        frequency = low + (high - low) * position
        trace = torch.exp(-3 * damping * time) * torch.sin(2 * math.pi * frequency * time)
        return trace + drift * time + 0.05 * self.noise[index], label


def jitter(trace: torch.Tensor, strength: float = 0.1) -> torch.Tensor:
    return trace + strength * torch.randn_like(trace)


def scale(trace: torch.Tensor) -> torch.Tensor:
    return trace * (0.8 + 0.4 * torch.rand(()))


def shift(trace: torch.Tensor, most: int = 6) -> torch.Tensor:
    return torch.roll(trace, int(torch.randint(-most, most + 1, ())), dims=-1)


def drop(trace: torch.Tensor, share: float = 0.1) -> torch.Tensor:
    return torch.where(torch.rand_like(trace) < share, torch.zeros_like(trace), trace)


def view_of(trace: torch.Tensor) -> torch.Tensor:
    for change in (shift, scale, jitter, drop):
        trace = change(trace)
    return trace


def collate_views(items: list[tuple[torch.Tensor, int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(first view, second view, labels), each with the batch in front."""
    first = torch.stack([view_of(trace) for trace, _ in items])
    second = torch.stack([view_of(trace) for trace, _ in items])
    return first, second, torch.tensor([label for _, label in items])
