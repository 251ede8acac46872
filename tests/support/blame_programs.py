"""Programs with one planted fault each, in a part of Inductor that is known: each fails by itself, with its own check."""

from __future__ import annotations

FUSION = """
import torch
from torch._inductor.codegen import cpp
from torch._inductor.scheduler import FusedSchedulerNode

codegen = cpp.CppScheduling.codegen_node


def codegen_node(self, node):
    old = cpp.CppVecOverrides.cos, cpp.CppOverrides.cos
    if isinstance(node, FusedSchedulerNode):
        cpp.CppVecOverrides.cos = staticmethod(lambda x: f"{x} + {x}")
        cpp.CppOverrides.cos = staticmethod(lambda x: f"{x} + {x}")
    try:
        return codegen(self, node)
    finally:
        cpp.CppVecOverrides.cos, cpp.CppOverrides.cos = map(staticmethod, old)


cpp.CppScheduling.codegen_node = codegen_node


def f(x):
    return torch.relu(x) + 1, torch.sin(x), torch.cos(x)
"""

VECTORISATION = """
import torch
from torch._inductor.codegen import cpp

cpp.CppVecOverrides.relu = staticmethod(lambda x: f"{x} + {x}")


def f(x):
    return torch.relu(x.cos()) * 2 + torch.relu(x)
"""

PATTERN = """
import torch
from torch._inductor.fx_passes.post_grad import pass_patterns
from torch._inductor.pattern_matcher import Arg, CallFunction, register_graph_pattern

aten = torch.ops.aten


@register_graph_pattern(CallFunction(aten.relu.default, CallFunction(aten.neg.default, Arg())), pass_dict=pass_patterns[0])
def relu_of_negative(match, x):
    match.replace_by_example(lambda x: torch.ops.aten.abs.default(x), [x])


def f(x):
    return torch.relu(torch.neg(torch.sin(x))) + 1
"""

LOWERING = """
import torch
from torch._inductor import lowering

aten = torch.ops.aten
lowering.lowerings[aten.sin.default] = lowering.lowerings[aten.cos.default]


def f(x):
    y = torch.relu(x) + 1
    z = torch.sin(y)
    return z * 2 - y
"""

PASS = """
import torch


def swap(graph):
    for node in graph.nodes:
        if node.target is torch.ops.aten.sin.default:
            node.target = torch.ops.aten.cos.default


torch._inductor.config.post_grad_custom_post_pass = swap


def f(x):
    return torch.sin(x) + 1
"""

CHECK = """

x = torch.randn(8, 32)
torch.testing.assert_close(torch.compile(f)(x), f(x))
"""

# Of AOTAutograd, whose dispatcher takes a decomposition for softshrink; that for hardshrink is as it was.
DISPATCHED = """
import functools
import os
import torch

kernels = torch.ops.aten.softshrink.default.py_kernels
right = kernels[torch._C.DispatchKey.Autograd]


@functools.wraps(right)
def doubled(*args):
    return right(*args) * 2


kernels[torch._C.DispatchKey.Autograd] = doubled


def f(x):
    return torch.nn.functional.softshrink(torch.nn.functional.hardshrink(x))


x = torch.arange(8.0)
compiled = torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "aot_eager"))
torch.testing.assert_close(compiled(x), f(x))
"""

# Of Dynamo, which sets no guard on numbers, and whose stand-in for a function of the program gives another value.
GUARDS = """
import os
import torch
from torch._dynamo.guards import GuardBuilder

GuardBuilder.EQUALS_MATCH = lambda *args, **options: None


def f(x, by):
    return x * by


fast = torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "eager"))
for by in (2, 3):
    torch.testing.assert_close(fast(torch.ones(2), by), f(torch.ones(2), by))
"""

# A hook that comes after the first call: no guard says that there was none.
HOOKED = """
import os
import torch

layer = torch.nn.Linear(2, 2)
fast = torch.compile(layer, backend=os.environ.get("TORCH_COMPILE_BACKEND", "eager"))
fast(torch.ones(2))
seen = []
layer.register_forward_hook(lambda *told: seen.append(told))
fast(torch.ones(2))
assert seen
"""

STAND_IN = """
import os
import torch


def half(number):
    return number // 2


@torch._dynamo.substitute_in_graph(half)
def stand_in(number):
    return number // 2 + 1


def f(x):
    return x * half(4)


fast = torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "eager"))
torch.testing.assert_close(fast(torch.ones(2)), f(torch.ones(2)))
"""

FAKE = """
import os
import torch
from torch._subclasses.fake_impls import register_op_impl


@register_op_impl(torch.ops.aten.hypot.default)
def hypot(mode, func, x, y):
    with mode:
        return torch.empty(x.shape)  # eager keeps the strides


def f(x):
    return torch.hypot(x.t(), x.t()).t().view(-1)


fast = torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "eager"))
fast(torch.ones(2, 3))
"""

# A compiled function is given inputs that share memory after it was given some that do not (pytorch/pytorch#139789).
SHARING = """
import os
import torch


def f(x, y):
    x.mul_(2)
    return x + y


compiled = torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "aot_eager"))
compiled(torch.ones(4), torch.ones(4))
memory, other = torch.ones(6), torch.ones(6)
torch.testing.assert_close(compiled(memory[:4], memory[2:]), f(other[:4], other[2:]))
"""
