"""Bugs of AOTAutograd and of decompositions."""

from __future__ import annotations

from sweep_programs.forms import TRAINED, Bug, checked, complex_pair

ALIASED = """

def shift(whole, part):
    {body}


def run(step):
    whole = torch.arange({count}, dtype=torch.float64).reshape({rows}, -1)
    return step(whole, whole[{start}:])


torch.testing.assert_close(run(torch.compile(shift)), run(shift))
"""
SPARSE = """

class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = torch.nn.Parameter(torch.randn({rows}, {width}))

    def forward(self):
        return {body}


def trained(table):
    rows = F.{lookup}
    rows.pow(2).sum().backward()


trained(Table())
trained(torch.compile(Table()))
"""
OTHER_DTYPE = """

def turn({names}):
    {body}


def run(step):
    {given}
    return step(data, {view})


torch.testing.assert_close(run(torch.compile(turn)), run(turn))
"""
TIED = """

class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(12, 4))
        self.head = self.table[{part}]

    def forward(self, x):
        with torch.no_grad():
            self.table.{change}
        return {body}


x = torch.randn(3, 4)
print({name}()(x).shape)
print(torch.compile({name}())(x).shape)
"""
STRIDES = """
m = torch.rand({rows}, {columns}).mT


def step(m):
    return {body}


wanted, found = step(m), torch.compile(step)(m)
assert found.stride() == wanted.stride(), (found.stride(), wanted.stride())
"""
SYMBOLIC_FLOAT = """

@torch.compile(fullgraph=True)
def step(x, s):
    return {body}


for s in ({values}):
    x = torch.ones({rows})
    torch.testing.assert_close(step(x, s), {plain})
"""
GRID = """

def sample(image, grid):
    return {body}


image, grid = torch.randn(1, 2, {size}, {size}), torch.rand(1, 3, 3, 2) * 2 - 1
grid[0, {row}, 1] = float("nan")
torch.testing.assert_close(torch.compile(sample)(image, grid), sample(image, grid), equal_nan=True)
"""

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
            """
import torch._dynamo

torch._dynamo.config.suppress_errors = True
a, b = torch.randn(2, 6, dtype=torch.complex64)
print(torch.compile(lambda a, b: torch.lerp(a, b, 0.5j).abs().sum())(a, b))
""",
        ),
    ),
    Bug(
        "nan_to_num_complex",
        "decomp_partition",
        (
            checked(complex_pair(4), "a, b", "torch.nan_to_num(a / b.abs())"),
            checked(complex_pair(8), "a, b", "(a + b).nan_to_num(nan=1.0).abs().sum()"),
            checked(complex_pair(3), "a, b", "torch.nan_to_num(torch.fft.fft(a)).imag + b.real", ", dynamic=True"),
            """
from torch.func import vmap


def clean(gain, wave):
    spectrum = torch.fft.rfft(wave) * gain
    return torch.nan_to_num(spectrum / spectrum.abs()).sum().real


print(torch.compile(vmap(clean, in_dims=(0, None)))(torch.ones(3, 9), torch.randn(16)))
""",
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
        (
            *tuple(
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
    ),
    Bug(
        "double_backward",
        "aot_autograd",
        (
            *tuple(
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
            """

def slope(x):
    return torch.autograd.grad((x**4).sum(), x, create_graph=True)[0]


for step in (slope, torch.compile(slope)):
    x = torch.tensor([0.5, 1.5, 2.5], requires_grad=True)
    print(torch.autograd.grad(step(x).sum(), x)[0])
""",
        ),
    ),
    Bug(  # pytorch/pytorch#198095
        "view_of_wrong_base",
        "aot_autograd",
        (
            ALIASED.format(body="whole.add_(100)\n    return part[0]", count=24, rows=4, start=1),
            ALIASED.format(body="whole.mul_(3)\n    return part[1]", count=30, rows=6, start=2),
        ),
    ),
    Bug(
        "grid_sample_nan",
        "decomp_partition",
        (
            GRID.format(body="F.grid_sample(image, grid, align_corners=False)", size=5, row=0),
            GRID.format(body="F.grid_sample(image.tanh(), grid, align_corners=True).flip(-1)", size=8, row=2),
            """

class Warp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Linear(2, 2)

    def forward(self, x):
        theta = torch.zeros(x.shape[0], 2, 3)
        s = torch.log(self.scale(x.mean((2, 3))) + torch.tensor([1.0, -9.0]))  # NaN where it is negative
        theta[:, 0, 0], theta[:, 1, 1] = s[:, 0], s[:, 1]
        return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)


model, x = Warp().eval(), torch.randn(2, 2, 6, 6)
with torch.no_grad():
    torch.testing.assert_close(torch.compile(model)(x), model(x), equal_nan=True)
""",
        ),
    ),
    Bug(
        "sparse_gradient_arrives",
        "aot_autograd",
        (
            SPARSE.format(
                rows=50, width=8, body="self.raw * 0.5", lookup="embedding(torch.arange(9), table(), sparse=True)"
            ),
            SPARSE.format(
                rows=20,
                width=3,
                body="-self.raw",
                lookup="embedding(torch.tensor([[1, 2], [2, 0]]), table(), sparse=True)",
            ),
        ),
    ),
    Bug(
        "written_under_two_dtypes",
        "aot_autograd",
        (
            OTHER_DTYPE.format(
                names="data, parts",
                body="parts.mul_(0.9)\n    return data.abs()",
                given="data = torch.ones(8, dtype=torch.complex64)",
                view="torch.view_as_real(data)",
            ),
            OTHER_DTYPE.format(
                names="data, bits",
                body="bits.bitwise_xor_(-(2**31))\n    return data * 2",
                given="data = torch.tensor([1.0, -2.5, 0.1])",
                view="data.view(torch.int32)",
            ),
            OTHER_DTYPE.format(
                names="data, halves",
                body="data.add_(1)\n    return halves + 1",
                given="data = torch.arange(6, dtype=torch.int64)",
                view="data.view(torch.int32)",
            ),
        ),
    ),
    Bug(
        "part_of_a_changed_parameter",
        "aot_autograd",
        (
            TIED.format(name="Tied", part=":5", change="clamp_(-1.0, 1.0)", body="x @ self.head.t()"),
            TIED.format(name="Bounded", part="2:9", change="mul_(0.99)", body="F.linear(x.sin(), self.head).relu()"),
        ),
    ),
    Bug(
        "put_strides",
        "decomp_partition",
        (STRIDES.format(rows=6, columns=5, body="m.put(torch.tensor([0, 7]), torch.tensor([1.0, 2.0]))"),),
    ),
    Bug(
        "pinverse_complex",
        "aot_autograd|decomp_partition",
        (
            checked("given = (torch.randn(5, 5, dtype=torch.complex64),)", "a", "torch.pinverse(a)"),
            checked("given = (torch.randn(4, 3, dtype=torch.complex64),)", "a", "torch.linalg.pinv(a).real + 1"),
        ),
    ),
    Bug(
        "constant_of_a_float",
        "dynamo|aot_autograd|inductor",
        (
            SYMBOLIC_FLOAT.format(
                body="x * s + torch.full((2,), s)",
                values="0.5, 1.25, 2.75, 3.0",
                rows=2,
                plain="torch.full((2,), 2 * s)",
            ),
            SYMBOLIC_FLOAT.format(
                body="x * s - torch.full((3,), s) * 3",
                values="0.5, 1.5, 2.5, 0.25",
                rows=3,
                plain="torch.full((3,), -2 * s)",
            ),
        ),
    ),
    Bug(
        "cholesky_inverse_of_nothing",
        "decomp_partition|aot_autograd",
        (
            """
a = torch.empty((0, 0), dtype=torch.complex64, requires_grad=True)
torch.cholesky_inverse(a).abs().sum().backward()
torch.compile(torch.cholesky_inverse)(a).abs().sum().backward()
""",
        ),
    ),
)
