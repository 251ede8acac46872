"""Programs that give code of their own to the compiler. `# here` marks the line that a report must name."""

from pathlib import Path

REPRODUCERS = Path(__file__).parents[2] / "reproducers"


def bundled(case: str, line: str) -> str:
    """The script of a bundled case, with the mark on the one line that begins so."""
    lines = (REPRODUCERS / case / "script.py").read_text().splitlines()
    (marked,) = (number for number, text in enumerate(lines) if text.strip().startswith(line))
    lines[marked] += "  # here"
    return "\n".join([*lines, ""])


LOWERING = bundled("own_lowering", "rows, columns = scores.get_size()")

THROUGH_LOWERING = """\
import torch
from torch._inductor import lowering


@torch.library.custom_op("blend::mix", mutates_args=())
def mix(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a * 0.5 + b.sum(0) * 0.5


@mix.register_fake
def _(a, b):
    return torch.empty_like(a)


@lowering.register_lowering(torch.ops.blend.mix.default)
def lower_mix(a, b):
    half = lowering.lowerings[torch.ops.aten.mul.Tensor](a, 0.5)
    rest = lowering.lowerings[torch.ops.aten.expand.default](b, [3, 5])  # here
    return lowering.lowerings[torch.ops.aten.add.Tensor](half, rest)


@torch.compile
def f(a, b):
    return torch.ops.blend.mix(a.relu(), b).sin()


a, b = torch.randn(4, 6), torch.randn(7, 6)
print(f(a, b))
"""

GRAPH_PASS = bundled("own_graph_pass", "scale = {")

THROUGH_JOINT_PASS = """\
import torch
from torch._inductor import config


def prune(graph):
    dead = [n for n in graph.nodes if n.op == "call_function" and "relu" in str(n.target)]
    graph.erase_node(dead[0])  # here


config.joint_custom_post_pass = prune
lin = torch.nn.Linear(3, 3)


@torch.compile
def f(x):
    return lin(x).relu().sum()


f(torch.randn(2, 3)).backward()
"""

PATTERN = """\
import torch
from torch._inductor import config
from torch._inductor.pattern_matcher import CallFunction, Arg, PatternMatcherPass, register_graph_pattern

patterns = PatternMatcherPass()
aten = torch.ops.aten


@register_graph_pattern(CallFunction(aten.mul.Tensor, CallFunction(aten.sin.default, Arg()), Arg()), pass_dict=patterns)
def swap(match, x, y):
    assert match.nodes[0].meta["val"].ndim == 2, "rows and columns wanted"  # here


class Swapping(torch._inductor.custom_graph_pass.CustomGraphPass):
    def __call__(self, graph):
        patterns.apply(graph)

    def uuid(self):
        return "swap-1"


config.post_grad_custom_post_pass = Swapping()


@torch.compile
def f(x):
    return x.sin() * x


print(f(torch.randn(4)))
"""

DECOMPOSITION = """\
import torch
from torch._inductor.decomposition import register_decomposition


@torch.library.custom_op("act::gate", mutates_args=())
def gate(x: torch.Tensor, slope: float) -> torch.Tensor:
    return torch.where(x > 0, x, x * slope)


@gate.register_fake
def _(x, slope):
    return torch.empty_like(x)


@register_decomposition(torch.ops.act.gate.default)
def gate_decomposed(x, slope):
    assert x.dim() == 4, "gate expects NCHW"  # here
    return torch.where(x > 0, x, x * slope)


def model(x):
    return torch.ops.act.gate(x.cos(), 0.1).mean()


x = torch.randn(3, 5)
print(model(x))
print(torch.compile(model)(x))
"""

DECOMPOSITION_OF_ATEN = """\
import torch
from torch._decomp import register_decomposition
from torch._inductor import decomposition

aten = torch.ops.aten


decomposition.decompositions.pop(aten.hardswish.default, None)


@register_decomposition(aten.hardswish.default, registry=decomposition.decompositions)
def my_hardswish(x):
    table = {torch.float16: 6.0, torch.bfloat16: 6.0}
    return x * torch.clamp(x + 3, 0, table[x.dtype]) / 6  # here


def model(x):
    return torch.nn.functional.hardswish(x + 1)


x = torch.randn(3, 5)
print(model(x).sum())
print(torch.compile(model)(x).sum())
"""

BACKEND_BACKWARD = """\
import torch
from torch._dynamo.backends.common import aot_autograd


def forward_compiler(gm, example_inputs):
    return gm.forward


def backward_compiler(gm, example_inputs):
    raise NotImplementedError("tpu: no backward yet")  # here


tpu = aot_autograd(fw_compiler=forward_compiler, bw_compiler=backward_compiler)
lin = torch.nn.Linear(3, 3)
f = torch.compile(lambda x: lin(x).sin().sum(), backend=tpu)
f(torch.randn(2, 3)).backward()
"""

BACKEND_RUNNING = """\
import torch


def npu(gm, example_inputs):
    order = [node for node in gm.graph.nodes if node.op == "call_function"]

    def run(*args):
        if len(order) > 2:
            raise MemoryError("npu: queue of 2 commands is full")  # here
        return gm.forward(*args)

    return run


@torch.compile(backend=npu)
def step(x):
    return torch.relu(x * 2) + 1


print(step(torch.randn(4)))
"""

FAKE_READS_VALUES = """\
import torch


@torch.library.custom_op("text::pack", mutates_args=())
def pack(tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.cat([row[:n] for row, n in zip(tokens, lengths.tolist())])


@pack.register_fake
def _(tokens, lengths):
    total = sum(lengths.tolist())
    if total > tokens.numel():  # here
        raise ValueError("lengths do not fit")
    return tokens.new_empty(total)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(100, 8)

    def forward(self, tokens, lengths):
        return self.emb(pack(tokens, lengths)).mean(0)


enc = Encoder()
tokens, lengths = torch.randint(0, 100, (3, 6)), torch.tensor([2, 6, 1])
print(enc(tokens, lengths))
print(torch.compile(enc, fullgraph=True)(tokens, lengths))
"""

FAKE_KERNEL = bundled("own_fake_kernel", "raise ValueError(")

KERNEL = """\
import torch


@torch.library.custom_op("pad::chunk", mutates_args=())
def chunk(x: torch.Tensor) -> torch.Tensor:
    if x.requires_grad or x.storage_offset() != 1:
        raise ValueError("chunk: meant for a slice of a padded buffer")  # here
    return x.clone()


@chunk.register_fake
def _(x):
    return torch.empty_like(x)


def f(x):
    y = torch.nn.functional.pad(x, (1, 0))
    return chunk(y[1:]) + 1


x = torch.randn(8)
print(f(x).sum())
print(torch.compile(f)(x).sum())
"""

BACKWARD = """\
import torch


@torch.library.custom_op("loss::huber", mutates_args=())
def huber(x: torch.Tensor, delta: float) -> torch.Tensor:
    return torch.where(x.abs() < delta, 0.5 * x * x, delta * (x.abs() - 0.5 * delta))


@huber.register_fake
def _(x, delta):
    return torch.empty_like(x)


def setup(ctx, inputs, output):
    x, ctx.delta = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    if float(x.abs().max()) > 100:  # here
        raise FloatingPointError("huber: exploded")
    return grad * x.clamp(-ctx.delta, ctx.delta), None


huber.register_autograd(backward, setup_context=setup)

lin = torch.nn.Linear(4, 4)


def step(x):
    return huber(lin(x), 1.0).mean()


x = torch.randn(8, 4)
step(x).backward()
torch.compile(step)(x).backward()
print("ok")
"""

NO_FAKE = """\
import torch


@torch.library.custom_op("audio::window", mutates_args=())
def window(x: torch.Tensor) -> torch.Tensor:
    return x * torch.hann_window(x.shape[-1])


def features(x):
    return window(x).abs().sum(-1)


x = torch.randn(2, 16)
print(features(x))
print(torch.compile(features)(x))
"""

MUTATES = """\
import torch


@torch.library.custom_op("mylib::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    x.mul_(factor)
    return x.sum()


@scale.register_fake
def _(x, factor):
    return x.new_empty(())


def f(x):
    y = x + 1
    total = torch.ops.mylib.scale(y, 0.5)
    return y * 2 + total


x = torch.arange(6.0)
expected = f(x)
got = torch.compile(f)(x)
torch.testing.assert_close(got, expected)
"""

ALIAS = """\
import torch

library = torch.library.Library("ring", "DEF")
library.define("latest(Tensor history, int count) -> Tensor")


def latest(history, count):
    return history[-count:]


library.impl("latest", latest, "CPU")
library.impl("latest", lambda history, count: history.new_empty(count), "Meta")


def f(h):
    h = h * 1.5
    new = torch.ops.ring.latest(h, 4)
    new.mul_(2.0)
    return h.sum() + new.sum()


h = torch.arange(16.0)
print(f(h))
torch.testing.assert_close(torch.compile(f)(h), f(h))
"""

FAKE_STRIDES = """\
import torch


@torch.library.custom_op("img::hwc", mutates_args=())
def hwc(x: torch.Tensor) -> torch.Tensor:
    return x.permute(1, 2, 0).clone()


@hwc.register_fake
def _(x):
    c, h, w = x.shape
    return x.new_empty(h, w, c)


def g(x):
    return hwc(x * 2).reshape(-1, 3).sum(0)


x = torch.randn(3, 4, 5)
print(g(x))
print(torch.compile(g)(x))
"""

BACKEND_CRASHES = """
import ctypes
import torch

def backend(gm, inputs):
    def run(*values):
        return [ctypes.string_at(0)]  # here
    return run

torch.compile(lambda x: x.sin(), backend=backend)(torch.ones(3))
"""
