"""Slow start: imports, a corpus of made-up sentences and a model keep one core busy for some 30 s before the first compile.

All of it is work, none of it sleep, so that two copies on one core take twice as long.
"""

import random
import time
from collections import Counter

import torch
import torch._inductor.compile_fx
import torch._inductor.config
from torch import nn

SENTENCES, LENGTH, LAYERS, WIDTH = 600_000, 24, 24, 1024

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


def corpus() -> torch.Tensor:
    """Every sentence as numbers of words, the common words first, the poorest sentences first."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(20_000)]
    sentences = [" ".join(rng.choices(words, k=LENGTH)) for _ in range(SENTENCES)]
    counts = Counter(word for sentence in sentences for word in sentence.split())
    numbers = {word: number for number, (word, _) in enumerate(counts.most_common())}
    rows = [[numbers[word] for word in sentence.split()] for sentence in sentences]
    rows.sort(key=lambda row: (len(set(row)), row))
    return torch.tensor(rows)


class Model(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        for layer in self.layers:
            nn.init.orthogonal_(layer.weight)
        self.head = nn.Linear(WIDTH, 8)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(tokens).mean(1)
        for layer in self.layers:
            hidden = hidden + torch.tanh(layer(hidden))
        return self.score(hidden)

    @torch.compile
    def score(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.head(torch.relu(hidden - hidden.mean(-1, keepdim=True))), -1)


torch.manual_seed(0)
tokens = corpus()
model = Model(int(tokens.max()) + 1)
print(f"ready after {time.process_time():.0f} s of processor time", flush=True)
with torch.no_grad():
    print(model(tokens[:16]))
