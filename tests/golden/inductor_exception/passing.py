# torch 2.13.0+cpu, inductor, backward: AssertionError: expected size 4==4, stride 1==9 at dim=1
import os

import torch
import torch.nn.functional as F


def f(x, w):
    return F.conv2d(x, w)


torch.manual_seed(0)
x = torch.randn(1, 4, 3, 3, requires_grad=True)
w = torch.randn(6, 4, 3, 3, requires_grad=True)
f(x, w).sum().backward()
torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "inductor"))(x, w).sum().backward()
