"""Guided backpropagation: only the backward pass has a relu.

The bug is injected: Inductor writes invalid C++ for every relu, so the forward pass compiles and runs.
"""

import torch
import torch.nn as nn

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


class GuidedClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, torch.relu(grad), torch.zeros_like(grad))


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(10, 16), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(GuidedClamp.apply(self.first(x)))


torch.manual_seed(4)
classifier = torch.compile(Classifier())
x = torch.randn(6, 10, requires_grad=True)
scores = classifier(x)
print("forward", scores.argmax(-1).tolist())
scores[:, 0].sum().backward()
print("saliency", x.grad.abs().sum(-1).tolist())
