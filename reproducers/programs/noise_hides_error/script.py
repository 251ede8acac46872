"""A denoising step with noise drawn inside of the graph; nothing in the script looks at the result."""

import torch
import torch._inductor.config as inductor_config
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


class Denoiser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down, self.up = nn.Linear(width, 32), nn.Linear(32, width)

    def forward(self, x, level):
        noisy = x + level * torch.randn_like(x)
        return noisy - self.up(torch.relu(self.down(noisy)))


torch.manual_seed(0)
model = torch.compile(Denoiser().eval())
x = torch.randn(4, 16)
with torch.no_grad():
    for level in (0.5, 0.25):
        x = model(x, level)
print("done", x.shape)
