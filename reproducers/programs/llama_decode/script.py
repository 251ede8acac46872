"""Greedy decoding with a key-value cache that is written in place."""

import torch
import torch._inductor.config as inductor_config
import torch.nn.functional as F
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.register_buffer("keys", torch.zeros(1, heads, length, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, length, width // heads))

    def forward(self, x, position):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        self.keys.index_copy_(2, position[None], k)
        self.values.index_copy_(2, position[None], v)
        mask = torch.arange(self.keys.shape[2]) <= position
        found = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask[None, None, None])
        return self.out(found.transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    def __init__(self, vocabulary=40, width=16, layers=2, length=12):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Attention(width, 2, length) for _ in range(layers))
        self.gate = nn.Linear(width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, token, position):
        x = self.embed(token)[:, None]
        for layer in self.layers:
            x = x + layer(x, position)
        return self.head(torch.relu(self.gate(x)))[:, -1]


@torch.no_grad()
def decode(model, steps=5):
    token, chosen = torch.tensor([1]), []
    for number in range(steps):
        logits = model(token, torch.tensor(number))
        chosen.append(logits)
        token = logits.argmax(-1)
    return torch.cat(chosen)


torch.manual_seed(0)
model = Decoder().eval()
want = decode(model)
got = decode(torch.compile(model))
torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3)
