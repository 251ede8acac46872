"""A gated residual step. The bug is injected: the kernel that Inductor builds throws when it runs."""

import torch

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "runtime_error"


@torch.compile
def residual(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    gate = torch.sigmoid(x @ weight)
    return x + gate * torch.relu(x - x.mean(-1, keepdim=True))


torch.manual_seed(0)
with torch.inference_mode():
    y = residual(torch.randn(4, 16), torch.randn(16, 16))
print(y.shape)
