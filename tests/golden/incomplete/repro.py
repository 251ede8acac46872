# torch 2.13.0+cpu, inductor, forward: SIGABRT, index out of bounds: 0 <= tmp7 < 10L
import os

import torch


def f(x, edges):
    bins = (x // 0.1).long().clamp(min=0)
    return edges[bins].sum()


torch.manual_seed(0)
x, edges = torch.rand(4096), torch.randn(10)
f(x, edges)
torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "inductor"))(x, edges)
