"""Training with activation checkpointing, mixed precision and clipped gradients."""

import torch
import torch._inductor.config as inductor_config
from torch import nn
from torch.utils.checkpoint import checkpoint

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.inner(self.norm(x)))


class Model(nn.Module):
    def __init__(self, width=16, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.head(x)


def main():
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(3):
        x, y = torch.randn(6, 16), torch.randint(0, 3, (6,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(compiled(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(number, float(loss))


main()
