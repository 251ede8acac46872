# TorchRuntimeError: RuntimeError when making fake tensor call Explanation: Dynamo failed to run FX node with fake tensors: call...
# Stage dynamo in torch/_dynamo/utils.py:<lambda>; passes uncompiled. Seen on torch 2.13.0+cpu.
import os
import torch

lib = torch.library.Library("vis", "DEF")
lib.define("pool(Tensor x, int size) -> Tensor")

def pool_cpu(x, size):
    return x

def pool_meta(x, size):
    n, c, h, w = x.shape
    raise ValueError(f"pool: {h}x{w} is no multiple of {size}")

lib.impl("pool", pool_cpu, "CPU")
torch.library.register_fake("vis::pool", pool_meta)

def f(x):
    torch.ops.vis.pool(x.relu(), 1).sum()

compiled = torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "eager"))
compiled(torch.randn(1, 1, 1, 1))
