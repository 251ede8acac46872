"""Weighted covariance of features, batch by batch; batches differ in size."""

import torch


@torch.compile
def weighted_cov(features: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    centred = features - features.mean(0)
    return torch.cov(centred.T, aweights=weights)


generator = torch.Generator().manual_seed(11)
for rows in (32, 48, 20):
    features = torch.randn(rows, 4, generator=generator)
    weights = torch.rand(rows, generator=generator)
    print(rows, torch.linalg.eigvalsh(weighted_cov(features, weights)).tolist())
