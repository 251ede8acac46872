"""A healthy training loop with dropout and noise: nothing is wrong with it."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 1))


@torch.compile
def loss_of(x, y):
    noisy = x + 0.1 * torch.randn_like(x)
    return nn.functional.mse_loss(model(noisy)[:, 0], y)


optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for number in range(4):
    x = torch.randn(16, 8)
    loss = loss_of(x, x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
