"""Programs that fail for a cause which is no bug of the compiler. Every one was run; none needs a GPU."""

NO_COMPILER = """
import torch

@torch.compile
def f(x):
    return torch.relu(x) + 1

f(torch.ones(4))
"""

DATA_DEPENDENT = """
import torch

@torch.compile(fullgraph=True)
def f(x):
    if x.sum() > 0:
        return x + 1
    return x - 1

f(torch.ones(4))
"""

GUARD_ON_VALUE = """
import torch
torch._dynamo.config.capture_dynamic_output_shape_ops = True

@torch.compile(fullgraph=True)
def f(x):
    if x.nonzero().size(0) > 3:
        return x + 1
    return x - 1

f(torch.ones(4))
"""

PRINTS = """\
import torch


@torch.compile(fullgraph=True)
def step(x):
    print("one step")
    return x.sin()


print(step(torch.ones(3)))
"""
GRAPH_BREAK = """
import torch

@torch.compile(fullgraph=True)
def f(x):
    y = torch.relu(x)
    torch._dynamo.graph_break()
    return y + 1

f(torch.ones(4))
"""

RECOMPILES = """
import torch
torch._dynamo.config.recompile_limit = 2

@torch.compile(fullgraph=True)
def f(x, mode):
    return x + len(mode)

for mode in ("a", "bb", "ccc", "dddd"):
    f(torch.ones(4), mode)
"""

CHECKPOINT = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(2, 2))
weights = torch.compile(model).state_dict()
model.load_state_dict(weights)
"""

LENIENT_CHECKPOINT = """
import torch

model, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
weights = torch.compile(model, backend="eager").state_dict()
other.load_state_dict(weights, strict=False)
assert torch.equal(model.weight, other.weight), "the model that was loaded is another one"
"""

LOCAL_RANK = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.parse_args(["--local-rank=0"])  # as torch.distributed.launch starts it
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
"""

NO_FAKE = """
import torch

@torch.library.custom_op("audio::window", mutates_args=())
def window(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

@torch.compile(fullgraph=True)
def f(x):
    return window(x) + 1

f(torch.ones(4))
"""

UNKNOWN_BACKEND = """
import torch

f = torch.compile(lambda x: x + 1, backend="inductr")
f(torch.ones(4))
"""

DONATED = """
import torch

@torch.compile
def f(x, w):
    return (torch.relu(x @ w) @ w).softmax(-1).sum()

x, w = (torch.randn(4, 4, requires_grad=True) for _ in range(2))
f(x, w).backward()
f(x, w).backward(retain_graph=True)
"""

DEVICES = """
import torch

@torch.compile
def f(x, y):
    return x + y

f(torch.ones(2, 2), torch.ones(2, 2, device="meta"))
"""

DTYPES = """
import torch

@torch.compile
def f(x, y):
    return x @ y

f(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64))
"""

INFERENCE = """
import torch

with torch.inference_mode():
    x = torch.ones(4)

@torch.compile(backend="eager")
def f(x):
    return x.add_(1)

f(x)
"""

BACKWARD_TWICE = """
import torch

@torch.compile(backend="aot_eager")
def f(x):
    return x.sin().sum()

y = f(torch.ones(4, requires_grad=True))
y.backward()
y.backward()
"""

OUT_OF_MEMORY = """
import torch

x = torch.empty(1 << 50)
torch.compile(lambda x: x + 1)(x)
"""

WARNINGS = """
import warnings

import torch

warnings.simplefilter("error")


def f(x):
    return torch.sin(x) + 1


f(torch.ones(4))
torch.compile(f)(torch.ones(4))
"""

CHANGED_BEFORE_BACKWARD = """
import torch


class Stateful(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 3)
        self.register_buffer("h", torch.zeros(2, 3))

    def forward(self, x):
        h = self.cell(x, self.h)
        self.h.copy_(h.detach())
        return h


print(torch.compile(Stateful(), backend="aot_eager")(torch.ones(2, 3)).sum())
"""
