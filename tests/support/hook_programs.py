"""Programs that use torch.compile in every way, and programs that end in every way."""

EVERY_WAY = '''
import json, sys
import torch
from torch import compile as imported

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.width = 4
    def forward(self, x):
        return self.linear(x).relu()
    def describe(self):
        return "net of width %d" % self.width

@torch.compile
def bare(x):
    """Its words."""
    return x.sin() + 1

@torch.compile()
def empty(x):
    return x.cos()

@torch.compile(fullgraph=True, mode="reduce-overhead", dynamic=False)
def arguments(x):
    return x * 2

class Holder:
    @torch.compile(options={"max_autotune": False})
    def method(self, x):
        return x - 1

def plain(x):
    return x.exp()

by_name = imported(plain, backend="inductor")
by_keyword = torch.compile(model=plain, backend="aot_eager")
switched_off = torch.compile(plain, disable=True)
inner = torch.compile(plain, fullgraph=True)
older = torch._dynamo.optimize("aot_eager", nopython=True)(lambda x: x.tan())
older_net = torch._dynamo.optimize()(Net())

@torch.compile(fullgraph=True)
def outer(x):
    return inner(x) + 1

wrapped = torch.compile(Net())
in_place = Net()
in_place.compile(fullgraph=True)
nested = torch.compile(torch.nn.Sequential(torch.compile(Net()), Net()), fullgraph=True)

x = torch.ones(2, 4)
functions = [bare, empty, arguments, Holder().method, by_name, by_keyword, switched_off, inner, outer,
     wrapped, in_place, nested, older, older_net]
for function in functions:
    function(x)
loss = wrapped(x).sum()
loss.backward()
print(json.dumps({
    "values": [bool(torch.equal(outer(x), x.exp() + 1)), bool(torch.allclose(bare(x), x.sin() + 1))],
    "name": bare.__name__, "doc": bare.__doc__, "module": bare.__module__,
    "original": type(wrapped._orig_mod).__name__, "keys": sorted(wrapped.state_dict()), "described": wrapped.describe(),
    "is_module": isinstance(wrapped, torch.nn.Module), "gradient": wrapped.linear.weight.grad is not None,
    "own_keys": sorted(in_place.state_dict()), "path": [p for p in sys.path if "triage" in p and "agent" in p],
}))
'''

FAILS = """
import torch

def broken(graph, inputs):
    raise KeyError("no kernel for relu")

@torch.compile(backend=broken)
def f(x):
    return x.relu()
"""

HANDLES = (
    FAILS
    + """
import torch._dynamo

try:
    f(torch.ones(3))
except Exception as error:
    print("handled", type(error).__name__)

torch._dynamo.config.suppress_errors = True
torch._dynamo.reset()

@torch.compile(backend=broken)
def g(x):
    return x.sigmoid()

print("went on", g(torch.ones(3)).sum().item() > 0)
"""
)

HIDES = (
    FAILS
    + """
import sys

sys.excepthook = lambda *facts: print("nothing to see")
try:
    f(torch.ones(3))
except Exception as error:
    raise RuntimeError("step 3 failed") from error
"""
)

LEAVES = (
    FAILS
    + """
import os

try:
    f(torch.ones(3))
except Exception:
    os._exit(7)
"""
)

TESTS = (
    FAILS
    + """
import unittest
import pytest

def test_passes():
    assert True

@pytest.mark.xfail
def test_expected():
    raise ValueError("expected")

def test_fails():
    f(torch.ones(3))

class Case(unittest.TestCase):
    def test_skipped(self):
        self.skipTest("not here")

    def test_fails(self):
        f(torch.ones(3))
"""
)

RANKS = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)

def broken(graph, inputs):
    raise KeyError("no kernel for relu")

f = torch.compile(lambda x: x.relu(), backend=broken)
if dist.get_rank() == 1:
    f(total)
dist.barrier()
"""
