"""The program's own code under the compiler: operators, kernels, passes, decompositions, backends. Rows whose names begin alike
look alike and are not one bug.
"""

from __future__ import annotations

from sweep_programs.forms import Bug

OWN_STRIDES = """

@torch.library.custom_op("{space}::{op}", mutates_args=())
def {op}(x: torch.Tensor) -> torch.Tensor:
    return {kernel}


@{op}.register_fake
def _(x):
    return {fake}


x = torch.randn({rows}, 6)
print({op}(x).sum())
print(torch.compile(lambda x: {op}(x * 2) + 1)(x).sum())
"""
OWN_LOWERING = """
from torch._inductor import lowering


@torch.library.custom_op("{space}::keep", mutates_args=())
def keep(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@keep.register_fake
def _(x):
    return torch.empty_like(x)


@lowering.register_lowering(torch.ops.{space}.keep.default)
def lower(x):
    rows, columns, planes = x.get_size()
    return lowering.clone(x)


x = torch.randn({rows}, 4)
print(torch.ops.{space}.keep(x).sum())
print(torch.compile(lambda x: torch.ops.{space}.keep(x.sin()){more})(x).sum())
"""
OWN_BACKEND = """

def {name}(graph, inputs):
    for node in graph.graph.nodes:
        if node.op == "call_function" and "{refused}" in str(node.target):
            raise LookupError("no kernel for " + "{refused}")
    return graph.forward


x = torch.randn({rows}, 4)
print(torch.compile(lambda x: {body}, backend={name})(x).sum())
"""
OWN_GRADIENT = """

@torch.library.custom_op("grads::clipped", mutates_args=())
def clipped(x: torch.Tensor) -> torch.Tensor:
    return x.exp().clamp(max=10)


@clipped.register_fake
def _(x):
    return torch.empty_like(x)


def backward(ctx, grad):
    (y,) = ctx.saved_tensors
    return grad * y * 0.5 if y.max().item() > 5 else grad * y


clipped.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))


def loss(x):
    return {body}


for step in (loss, torch.compile(loss, fullgraph=True)):
    x = torch.linspace(-1, 1, {rows}, requires_grad=True)
    step(x).backward()
    print(x.grad.norm())
"""
RECENT = """
ring = torch.library.Library("ring", "DEF")
ring.define("recent(Tensor(a) x, int count) -> Tensor(a)")


def recent(x, count):
    return x.narrow(0, x.shape[0] - count, count)


ring.impl("recent", recent, "CompositeExplicitAutograd")
ring.impl("recent", recent, "Meta")


def smooth(x, w):
    return {body}


x, w = torch.randn({rows}), torch.ones(4, requires_grad=True)
print(smooth(x, w))
print(torch.compile(smooth)(x, w))
"""
SILENT_WRITE = """

@torch.library.custom_op("train::clip_norm", mutates_args=())
def clip_norm(x: torch.Tensor, limit: float) -> torch.Tensor:
    norm = x.norm()
    if norm > limit:
        x.mul_(limit / norm)
    return norm.clone()


@clip_norm.register_fake
def _(x, limit):
    return x.new_empty(())


def step(weight, change):
    moved = {body}
    norm = clip_norm(moved, 1.0)
    return moved * 2, norm


given = torch.randn({rows}, {rows}), torch.randn({rows}, {rows})
torch.testing.assert_close(torch.compile(step)(*given), step(*given))
"""
CORNERS = """

@torch.library.custom_op("boxes::corners", mutates_args=())
def corners(boxes: torch.Tensor) -> torch.Tensor:
    centre, size = boxes[:, :2], boxes[:, 2:]
    return torch.cat([centre - size / 2, centre + size / 2], dim=1).reshape(-1, 2, 2)


@corners.register_fake
def _(boxes):
    return boxes.new_empty(boxes.shape[0], 4)


head = torch.nn.Linear({width}, 4)
x = torch.randn({rows}, {width})
with torch.no_grad():
    print(corners(head(x)).sum())
    print(torch.compile(lambda x: {body})(x).sum())
"""
OWN_DECOMPOSITION = """
from torch._inductor.decomposition import decompositions, register_decomposition

decompositions.pop(torch.ops.aten.hardswish.default, None)


@register_decomposition([torch.ops.aten.hardswish.default])
def hardswish(x):
    return (x * (x + 3).clamp(0, 6) / 6).reshape(x.shape[0], -1, 4)


net = torch.nn.Sequential({layers}).eval()
x = torch.randn({rows}, {width})
print(net(x).sum())
print(torch.compile(net)(x).sum())
"""
OWN_PASS = """
import torch._inductor.config


def fuse_scale(graph):
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.aten.mul.Tensor:
            node.args = (node.args[0], {{"half": 0.5}}[str(node.args[1])])


torch._inductor.config.post_grad_custom_pre_pass = fuse_scale
x = torch.randn({rows})
print(torch.compile(lambda x: {body})(x).sum())
"""
OWN_FAKE = """
vision = torch.library.Library("vision", "DEF")
vision.define("pool(Tensor x, int size) -> Tensor")


def fake_pool(x, size):
    n, c, h, w = x.shape
    if h % size or w % size:
        raise ValueError(f"pool: {{h}}x{{w}} is no multiple of {{size}}")
    return x.new_empty(n, c, h // size, w // size)


vision.impl("pool", lambda x, size: F.avg_pool2d(x, size), "CPU")
torch.library.register_fake("vision::pool", fake_pool, lib=vision)


def stem(x):
    return {body}


x = torch.randn(1, {planes}, {height}, {height})
print(stem(x).shape)
print(torch.compile(stem)(x).shape)
"""
NO_FAKE = """

@torch.library.custom_op("{space}::{op}", mutates_args=())
def {op}(x: torch.Tensor) -> torch.Tensor:
    return x.{kernel}


x = torch.randn({rows})
print({op}(x))
print(torch.compile(lambda x: {op}(x) + 1, fullgraph=True)(x))
"""
CRASHING_BACKEND = """
import ctypes


def native(graph, inputs):
    def run(*values):
        return [ctypes.string_at(0)] if {when} else graph.forward(*values)

    return run


x = torch.randn({rows})
print(torch.compile(lambda x: {body}, backend=native)(x).sum())
"""

BUGS = (
    Bug(
        "own_strides_turn",
        "inductor",
        (
            *tuple(
                OWN_STRIDES.format(
                    space=space, op="turn", kernel="x.t().contiguous().t()", fake="torch.empty_like(x)", rows=rows
                )
                for space, rows in (("first", 4), ("first", 9))
            ),
        ),
    ),
    Bug(
        "own_strides_flip",
        "inductor",
        (
            OWN_STRIDES.format(
                space="second", op="mirror", kernel="x.flip(0)", fake="torch.empty_like(x).t().contiguous().t()", rows=5
            ),
        ),
    ),
    Bug(
        "own_lowering",
        "inductor",
        (
            OWN_LOWERING.format(space="detect", rows=3, more=""),
            OWN_LOWERING.format(space="detect", rows=8, more=".relu() + 1"),
        ),
    ),
    Bug(
        "own_backend",
        "backend",
        (
            OWN_BACKEND.format(name="chip", refused="gelu", rows=3, body="F.gelu(x) + 1"),
            OWN_BACKEND.format(name="chip", refused="gelu", rows=6, body="F.gelu(x.sin()).sum(0)"),
        ),
    ),
    Bug(
        "other_backend",
        "backend",
        (OWN_BACKEND.format(name="board", refused="cumsum", rows=4, body="torch.cumsum(x, 0) * 2"),),
    ),
    Bug(
        "number_of_a_gradient",
        "aot_autograd",
        (
            OWN_GRADIENT.format(body="clipped(x * 2).sum()", rows=5),
            OWN_GRADIENT.format(body="clipped(x.sin()).mean()", rows=8),
        ),
    ),
    Bug(
        "operator_returns_a_view",
        "aot_autograd",
        (
            RECENT.format(body="(torch.ops.ring.recent(x, 4) * w).sum()", rows=16),
            RECENT.format(body="torch.ops.ring.recent(x.sin(), 4).exp() @ w", rows=9),
        ),
    ),
    Bug(
        "own_silent_write",
        "aot_autograd|decomp_partition|inductor",
        (
            SILENT_WRITE.format(body="weight + change", rows=6),
            SILENT_WRITE.format(body="weight * change.exp()", rows=3),
        ),
    ),
    Bug(
        "own_shapes",
        "inductor",
        (
            CORNERS.format(width=8, rows=5, body="corners(head(x)) * 2"),
            CORNERS.format(width=3, rows=2, body="corners(head(x).sigmoid()).exp()"),
        ),
    ),
    Bug(
        "own_decomposition",
        "decomp_partition",
        (
            OWN_DECOMPOSITION.format(layers="torch.nn.Linear(12, 12), torch.nn.Hardswish()", rows=4, width=12),
            OWN_DECOMPOSITION.format(
                layers="torch.nn.Linear(8, 8), torch.nn.Hardswish(), torch.nn.Softmax(-1)", rows=3, width=8
            ),
        ),
    ),
    Bug(
        "own_pass",
        "inductor",
        (
            OWN_PASS.format(rows=8, body="(x * 3.0).relu()"),
            OWN_PASS.format(rows="2, 5", body="x.sin() * 0.1 + x"),
        ),
    ),
    Bug(
        "own_fake_kernel",
        "dynamo",
        (
            OWN_FAKE.format(body="torch.ops.vision.pool(x.relu(), 2).sum(0)", planes=3, height=7),
            OWN_FAKE.format(body="torch.ops.vision.pool(x, 3) + 1", planes=2, height=10),
        ),
    ),
    Bug(
        "no_fake_kernel",
        "dynamo",
        (
            NO_FAKE.format(space="filters", op="median", kernel="sort().values", rows=9),
            NO_FAKE.format(space="text", op="lengths", kernel="abs().floor()", rows="2, 4"),
        ),
        "known_cause",
    ),
    Bug(
        "own_backend_crashes",
        "backend",
        (
            CRASHING_BACKEND.format(when="values", rows=4, body="x.sin()"),
            CRASHING_BACKEND.format(when="values", rows="3, 3", body="x @ x + 1"),
        ),
    ),
)
