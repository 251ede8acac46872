"""Programs of known fate for `benchmarks/sweep.py`: each row is one bug (or none), with the faces under which it shows.

Every failing one was run by hand on torch 2.13.0 for CPU, and passes uncompiled. Faces of one bug have one guilty operation, or
one piece of code. Rows whose names begin alike (`own_strides_`, `relu_`) look alike and are not one bug.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import torch\nimport torch.nn.functional as F\n\ntorch.manual_seed(0)\n"
CHECKED = """
{given}


def step({names}):
    return {body}


expected = step(*given)
torch.testing.assert_close(torch.compile(step{options})(*given), expected, equal_nan=True)
"""
TRAINED = """
{given}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, {names}):
        return {body}


model = Model()
expected = model(*given)
torch.testing.assert_close(torch.compile(model{options})(*given), expected, equal_nan=True)
"""
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
INJECTED = """
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "{kind}"
x = torch.randn({rows}, 5)
expected = {body}
torch.testing.assert_close(torch.compile(lambda x: {body})(x), expected)
"""
DECIMAL = """
from decimal import Decimal

PRICE = Decimal("{price}")
x = torch.randn({rows})
print(torch.compile(lambda x: {body})(x).sum())
"""
SCRIPT = """
x = torch.randn({rows}, 4)
print(torch.compile(lambda x: x.sin())(x).sum())
{fault}
"""


def complex_pair(rows: int) -> str:
    return f"given = tuple(torch.randn(2, {rows}, 3, dtype=torch.complex64))"


@dataclass(frozen=True)
class Bug:
    """`fate` as in sweep.json; `stage` may name alternatives. `faces` are whole programs without their head."""

    name: str
    stage: str
    faces: tuple[str, ...]
    fate: str = "fails"


def checked(given: str, names: str, body: str, options: str = "", text: str = CHECKED) -> str:
    return text.format(given=given, names=names, body=body, options=options)


BUGS = (
    Bug(
        "lerp_complex",
        "decomp_partition",
        (
            checked(complex_pair(5), "a, b", "torch.lerp(a, b, 0.3 + 0.2j)"),
            checked(complex_pair(2), "a, b", "(a * b).sin().lerp(b, 0.7j).abs()"),
            checked(
                complex_pair(7), "a, b", "torch.lerp(a.cos(), b, 0.1j).real @ self.inner.weight[:3, :3]", text=TRAINED
            ),
        ),
    ),
    Bug(
        "nan_to_num_complex",
        "decomp_partition",
        (
            checked(complex_pair(4), "a, b", "torch.nan_to_num(a / b.abs())"),
            checked(complex_pair(8), "a, b", "(a + b).nan_to_num(nan=1.0).abs().sum()"),
            checked(complex_pair(3), "a, b", "torch.nan_to_num(torch.fft.fft(a)).imag + b.real", ", dynamic=True"),
        ),
    ),
    Bug(
        "remainder_inf",
        "inductor",
        (
            checked(
                "given = (torch.randn(33), torch.tensor(float('inf')))",
                "x, y",
                "torch.remainder(x, y).clamp(-7, 7) + x",
            ),
            checked("given = (torch.randn(16), torch.full((16,), float('inf')))", "x, y", "(x % y).clamp(-5, 5)"),
            checked(
                "given = (torch.randn(3, 4),)", "x", "self.inner(x.remainder(float('-inf')).clamp(-9, 9))", text=TRAINED
            ),
        ),
    ),
    Bug(
        "floor_divide_value",
        "inductor",
        (
            checked("given = (torch.tensor([1.0, 2.0, 0.3]),)", "t", "t // 0.1"),
            checked("given = (torch.arange(1.0, 9.0),)", "t", "torch.floor_divide(t, 0.1) + t"),
        ),
    ),
    Bug(
        "bilinear_uint8",
        "aot_autograd|decomp_partition",
        (
            checked(
                "given = (torch.randint(0, 255, (2, 3, 7, 9), dtype=torch.uint8),)",
                "image",
                "F.interpolate(image, size=(13, 5), mode='bilinear')",
            ),
            checked(
                "given = (torch.randint(0, 255, (1, 1, 12, 10), dtype=torch.uint8),)",
                "image",
                "F.interpolate(image, size=(7, 17), mode='bilinear').flip(-1)",
            ),
        ),
    ),
    Bug(
        "addr_strides",
        "decomp_partition",
        tuple(
            f"""
m, u, v = torch.rand({rows}, {columns}).mT, torch.rand({columns}), torch.rand({rows})


def update(m, u, v):
    return torch.addr(m, u, v, beta=0.0){more}


expected = update(m, u, v)
found = torch.compile(update)(m, u, v)
assert found.stride() == expected.stride(), (found.stride(), expected.stride())
"""
            for rows, columns, more in ((6, 5, ""), (3, 8, " * 2"))
        ),
    ),
    Bug(
        "cumsum_of_a_number",
        "inductor",
        (
            checked("given = (torch.tensor(3.0),)", "x", "torch.ones_like(x).cumsum(-1) * x", ", dynamic=False"),
            checked(
                "given = (torch.tensor(0.5),)", "x", "(torch.full_like(x, 2.0).cumsum(0) + x).exp()", ", dynamic=False"
            ),
        ),
    ),
    Bug(
        "adaptive_pool_sizes",
        "inductor",
        tuple(
            f"""

@torch.compile
def fuse(fine, coarse):
    return {body}


for height, width in ((6, 6), (8, 10), (5, 9)):
    fine, coarse = torch.randn(1, {planes}, height, width), torch.randn(1, {planes}, 2 * height, 2 * width)
    print(fuse(fine, coarse).mean())
"""
            for planes, body in (
                (3, "fine + F.adaptive_avg_pool2d(coarse, fine.shape[-2:])"),
                (2, "(fine * F.adaptive_avg_pool2d(coarse.relu(), fine.shape[-2:])).sum(0)"),
            )
        ),
    ),
    Bug(
        "float_of_decimal",
        "dynamo",
        (
            DECIMAL.format(price="0.0025", rows=4, body="x.sum() * float(PRICE)"),
            DECIMAL.format(price="17", rows=9, body="(x + float(PRICE)).relu()"),
        ),
    ),
    Bug(
        "double_backward",
        "aot_autograd",
        tuple(
            f"""
net = torch.nn.Sequential(torch.nn.Linear(4, {width}), torch.nn.Tanh(), torch.nn.Linear({width}, 1))
weight = net[0].weight


def penalty(net):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    ({body}).backward()
    return weight.grad.norm()


print(penalty(net))
print(penalty(torch.compile(net)))
"""
            for width, body in ((8, "slope.norm()"), (5, "(slope ** 2).mean() + slope.abs().sum()"))
        ),
    ),
    Bug(
        "relu_does_not_build",
        "inductor",
        (
            INJECTED.format(kind="compile_error", rows=8, body="x.relu()"),
            INJECTED.format(kind="compile_error", rows=3, body="F.relu(x.sin() @ x.t()).sum(0)"),
        ),
    ),
    Bug(
        "relu_is_wrong",
        "inductor",
        tuple(INJECTED.format(kind="accuracy", rows=n, body="(x + 1).relu() * 2") for n in (6, 64)),
    ),
    Bug(
        "own_strides_turn",
        "inductor",
        tuple(
            OWN_STRIDES.format(
                space=space, op="turn", kernel="x.t().contiguous().t()", fake="torch.empty_like(x)", rows=rows
            )
            for space, rows in (("first", 4), ("first", 9))
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
        "break_under_fullgraph",
        "dynamo",
        tuple(
            f"""

@torch.compile(fullgraph=True)
def step(x):
    {line}
    return x.sin()


print(step(torch.randn({rows})).sum())
"""
            for rows, line in ((3, "print('a step')"), (7, "torch._dynamo.graph_break()"))
        ),
        "known_cause",
    ),
    Bug(
        "missing_file", "script", tuple(SCRIPT.format(rows=rows, fault="open('data.bin')") for rows in (2, 3)), "script"
    ),
    Bug("wrong_shapes", "script", (SCRIPT.format(rows=5, fault="print(x @ x)"),), "script"),
)

PASSING = (
    checked("given = (torch.randn({n}, {m}),)", "x", "x.sin() + x.cos()"),
    checked("given = (torch.randn({n}, {m}),)", "x", "F.softmax(x, -1) @ x.t()"),
    checked("given = (torch.randn({n}, 4),)", "x", "F.gelu(self.inner(x))", text=TRAINED),
    checked("given = (torch.randn({n}, {m}),)", "x", "F.layer_norm(x, x.shape[-1:]).sum(0)"),
    checked("given = (torch.randint(0, {m}, ({n},)), torch.randn({m}, 3))", "i, w", "F.embedding(i, w).relu()"),
    checked("given = (torch.randn(1, 3, {n} + 4, {m} + 4), torch.randn(2, 3, 3, 3))", "x, w", "F.conv2d(x, w).tanh()"),
    checked("given = (torch.randn({n}, {m}), torch.randint(0, {m}, ({n},)))", "x, y", "F.cross_entropy(x, y)"),
    checked("given = (torch.randn({n}, {m}),)", "x", "x.sort(-1).values.cumsum(-1)"),
    checked("given = (torch.randn({n}, {m}),)", "x", "torch.where(x > 0, x, x.exp()).mean(0)", ", dynamic=True"),
    checked("given = (torch.zeros({n}, {m}), torch.arange({n}))", "x, i", "x.index_add(0, i, x + 1).flip(0)"),
)
