"""Losses and measures on unit vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def info_nce(
    query: torch.Tensor, key: torch.Tensor, negatives: torch.Tensor, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, loss): the matching key is class 0, the queue holds the other classes."""
    positive = (query * key).sum(dim=-1, keepdim=True)
    logits = torch.cat([positive, query @ negatives.T], dim=1) / temperature
    return logits, F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))


def uniformity(vectors: torch.Tensor, sharpness: float = 2.0) -> torch.Tensor:
    """Log of the mean Gaussian potential between all pairs; low when vectors spread out."""
    distances = torch.pdist(vectors).square()
    return distances.mul(-sharpness).exp().mean().log()


def accuracy(logits: torch.Tensor) -> float:
    """How often the matching key scores highest."""
    return (logits.argmax(dim=1) == 0).float().mean().item()
