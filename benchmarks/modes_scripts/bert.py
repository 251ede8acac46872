"""Two layers of an encoder like BERT's, made from a configuration, in inference."""

from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(0)


@dataclass
class Config:
    words: int = 1000
    places: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 2


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.query, self.key, self.value, self.out = (nn.Linear(config.width, config.width) for _ in range(4))
        self.inner, self.outer = nn.Linear(config.width, 4 * config.width), nn.Linear(4 * config.width, config.width)
        self.first, self.second = nn.LayerNorm(config.width), nn.LayerNorm(config.width)

    def forward(self, x, mask):
        q, k, v = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask).softmax(-1)
        x = self.first(x + self.out((weights @ v).transpose(1, 2).flatten(2)))
        return self.second(x + self.outer(nn.functional.gelu(self.inner(x))))


class Bert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.words, self.places = nn.Embedding(config.words, config.width), nn.Embedding(config.places, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def forward(self, words, attended):
        x = self.norm(self.words(words) + self.places.weight[: words.shape[1]])
        mask = (1.0 - attended[:, None, None, :]) * -1e4
        for layer in self.layers:
            x = layer(x, mask)
        return x[:, 0]


model = torch.compile(Bert(Config()).eval())
words, attended = torch.randint(0, 1000, (4, 64)), torch.ones(4, 64)
with torch.no_grad():
    for _ in range(5):
        model(words, attended)
