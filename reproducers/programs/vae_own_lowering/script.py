"""A variational autoencoder; its softplus has a lowering of our own that forgets the dtype."""

import torch
from torch import nn

import lowerings

lowerings.install()


class VAE(nn.Module):
    def __init__(self, width=32, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 16), nn.SiLU(), nn.Linear(16, width))

    def forward(self, x, noise):
        mean, spread = self.encoder(x).chunk(2, dim=-1)
        scale = torch.ops.vae.soft_scale(spread)
        return self.decoder(mean + noise * scale), mean, scale


def loss_of(out, x):
    image, mean, scale = out
    divergence = -0.5 * (1 + 2 * scale.log() - mean**2 - scale**2).sum(-1).mean()
    return nn.functional.mse_loss(image, x) + 1e-3 * divergence


torch.manual_seed(0)
model = VAE()
step = torch.compile(model)
x, noise = torch.randn(8, 32), torch.randn(8, 4)
with torch.no_grad():
    print(float(loss_of(step(x, noise), x)))
