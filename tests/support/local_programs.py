"""Programs that fail because of what an imported module of their own did to torch: files by name, the first is run."""

# A lowering that is wrong, in a package that imports it for its effect only.
LOWERING = {
    "train.py": """
import torch
import torch.nn as nn

import kernels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.b(torch.erf(self.a(x)))


torch.manual_seed(0)
net = Net().eval()
step = torch.compile(net)
with torch.no_grad():
    for _ in range(2):
        x = torch.randn(8, 16)
        torch.testing.assert_close(step(x), net(x), rtol=1e-3, atol=1e-3)
""",
    "kernels/__init__.py": "from . import lowerings\n",
    "kernels/lowerings.py": '''
"""Lowerings tuned for our shapes."""

import torch
from torch._inductor import lowering
from torch._inductor.lowering import make_pointwise, register_lowering

from .tables import SLOPE

aten = torch.ops.aten


def _leaky(x):
    ops = lowering.ops
    return ops.where(ops.gt(x, ops.constant(0, torch.float32)), x, ops.mul(x, ops.constant(SLOPE, torch.float32)))


@register_lowering(aten.erf.default, type_promotion_kind=None)
def erf(x):
    return make_pointwise(_leaky)(x)
''',
    "kernels/tables.py": "import math\n\nSLOPE = math.sqrt(0.25)\nUNUSED = list(range(1000))\n",
}

# A pass that breaks, put into Inductor's config by a function that main() calls.
PASS = {
    "train.py": """
import argparse

import torch
import torch.nn as nn

from mylib import passes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2)
    args = parser.parse_args()
    passes.install()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    step = torch.compile(lambda x: torch.tanh(net(x) + 1.0) * 2)
    for _ in range(args.steps):
        step(torch.randn(4, 8)).sum().backward()


if __name__ == "__main__":
    main()
""",
    "mylib/__init__.py": "",
    "mylib/passes.py": """
import torch
import torch._inductor.config as config


def fuse_tanh(graph):
    for node in graph.nodes:
        if node.op == "call_function" and node.target == torch.ops.aten.tanh.default:
            source = node.args[0]
            if source.target == torch.ops.aten.add.Tensor:
                left, right = source.args[0].args
                node.meta["operands"] = left, right


def install():
    config.post_grad_custom_post_pass = fuse_tanh
""",
}

# A function of torch that is replaced.
PATCH = {
    "serve.py": """
import compat_patches
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)).eval()


@torch.compile
def score(x):
    h = net(x)
    return (h - h.amax(-1, keepdim=True)).exp().sum(-1)


with torch.inference_mode():
    print(score(torch.randn(4, 8)))
""",
    "compat_patches.py": '''
"""Work-arounds that we needed with an older release."""

import torch
import torch._inductor.ir as ir

_original = ir.Reduction.create


def _create(*args, **kwargs):
    if kwargs.get("reduction_type") == "max":
        raise ValueError("max reductions are turned off, see TICKET-17")
    return _original(*args, **kwargs)


ir.Reduction.create = staticmethod(_create)
''',
}

# A decomposition that forgets an argument; the program's own check sees it.
DECOMPOSITION = {
    "evaluate.py": """
import torch

import decomps


def encode(x, w):
    h = torch.addcmul(x, x @ w, x.sigmoid(), value=0.5)
    return h.mean(0), h.square().sum()


torch.manual_seed(0)
x, w = torch.randn(16, 8), torch.randn(8, 8)
fast = torch.compile(encode)
with torch.no_grad():
    for got, want in zip(fast(x, w), encode(x, w)):
        assert torch.allclose(got, want, atol=1e-4), (got - want).abs().max()
""",
    "decomps.py": """
import torch
from torch._inductor.decomposition import decompositions

aten = torch.ops.aten


def addcmul(x, a, b, *, value=1):
    return x + a * b


decompositions[aten.addcmul.default] = addcmul
""",
}

# All ways to do something to torch, and work that is none of them. Told by the last line, run in the program itself.
EVERY_WAY = {
    "train.py": """
import os

os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
import torch
import torch._inductor.config as config
import torch.nn as nn

import first
import pkg.second as second
from pkg import hooks, late

config.epilogue_fusion = False  # read off the config itself
torch.set_default_dtype(torch.float64)
torch.backends.mkldnn.enabled = False
torch.manual_seed(3)
net = nn.Linear(4, 4)
net.eval()
net.weight.data *= 2


def main():
    hooks.install()
    late.install()
    print(net(torch.ones(4)).sum() > 0)


class Pair:
    pass


torch.utils._pytree.register_pytree_node(Pair, lambda p: ([], None), lambda c, a: Pair())
if torch.__version__ > "1":
    setattr(torch, "my_marker", second.VALUE)
if __name__ == "__main__":
    main()
""",
    "first.py": "import torch\nimport pkg.deeper\n\ntorch.first_marker = pkg.deeper.made()\n",
    "pkg/__init__.py": "",
    "pkg/deeper.py": "import torch\n\n\ndef made():\n    return 7\n\n\ntorch.deeper_marker = 1\n",
    "pkg/second.py": "VALUE = len('abc')\nTABLE = {}\nTABLE['x'] = 1\n",
    "pkg/hooks.py": """
import torch


def patched(*args):
    return None


def install():
    torch.hooked_marker = patched
""",
    "pkg/late.py": """
import torch


def install():
    from torch._inductor.lowering import register_lowering

    @register_lowering(torch.ops.aten.hardshrink)
    def late_marker(x):
        return x
""",
}
