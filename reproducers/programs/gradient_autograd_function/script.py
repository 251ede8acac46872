"""A clipped activation with its own gradient, trained; the loss looks fine, a gradient is not."""

import torch
import torch._inductor.config as inductor_config
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.relu(1 - x.abs())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, x):
        return self.second(Clip.apply(self.first(x)))


torch.manual_seed(0)
model = Model()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = compiled(torch.randn(8, 6)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", float(loss) >= 0)
