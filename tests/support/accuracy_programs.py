"""Programs that raise nothing: some of them are wrong, and many only look as if they were."""

# A compiler that is as good as eager, or better, gives other numbers for all of these; none may be blamed.
HEALTHY = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.n1, self.n2, self.qkv, self.out = nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp, self.drop = nn.Sequential(nn.Linear(d, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, d)), nn.Dropout(0.2)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, n, d)))
        return x + self.mlp(self.n2(x))


def train(net, make, loss=lambda y: y.float().square().mean(), steps=2):
    step, opt = torch.compile(net), torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(steps):
        value = loss(step(make()))
        opt.zero_grad()
        value.backward()
        opt.step()


def ties(x, whole):
    small = x.topk(4)[1], x.sort(-1)[1], x.argmax(-1), x.max(-1)[1], x.mode(-1)[1], x.relu().argsort(-1)[:, :3]
    return (*small, whole.topk(3)[1], whole.sort()[1], x.gather(1, x.relu().sort(-1, descending=True)[1]))


def unwritten(x):
    return torch.empty(50, 50), torch.empty_like(x) + x, x * 2, torch.empty(99, dtype=torch.long)


def random(x):
    kept = torch.rand_like(x) < 0.5
    return x * kept, torch.randn(x.shape) + x, torch.randint(0, 9, (5,)), torch.randperm(9), kept.long(), x.sin()


def flips(x):
    steps = (x.exp().log() * 100).round().int(), torch.floor(x.tanh() * 7.3).long(), x.exp().log() > x
    return (*steps, (x.softmax(-1) * 255).to(torch.uint8), (x / 0.1).floor())


def unstable(x):
    y = x.sigmoid()
    for _ in range(8):
        y = 3.99 * y * (1 - y)
    return y, (x * 1e6).sin(), 1 / (x - x.roll(1) + 1e-8), (x + 1e6) - 1e6, x.cumsum(0), x.sum(), x.prod()


def noisy(x):
    drawn = torch.randn_like(x), torch.rand(x.shape), torch.bernoulli(x.sigmoid()), torch.empty_like(x).exponential_()
    sampled = (unstable(x)[0] + torch.randn(x.shape)).softmax(0).multinomial(9)
    return (*(y + noise for y, noise in zip(unstable(x), drawn)), sampled)


def holes(x):
    masked = torch.where(x > 0, x, torch.tensor(float("-inf")))
    return x.log(), x.sqrt(), x / 0, 0 * x / 0, x + float("nan"), F.softmax(masked, -1), x.half() * 6e4 * 3


def changing(x, running):
    running.mul_(0.9).add_(x.mean(0), alpha=0.1)
    x[:, 0] = 1
    return (x - running).relu(), x[1:], x.t(), x.view(-1)


def sharing(x, part):
    x.add_(100)
    part.mul_(2)
    return part.sum() * 1, x.sum()


def depends(x):
    return x[x > 0], (x > 0).nonzero(), torch.unique(x.round())


def twice(x, at, values):
    copy = x.clone()
    copy[at] = values
    return copy, x.index_add(0, at, values), x.scatter(0, at.unsqueeze(1).expand_as(values), values)


torch.manual_seed(0)
train(Block(), lambda: torch.randn(2, 8, 32))
train(Block().bfloat16(), lambda: torch.randn(2, 8, 32).bfloat16())
train(Block().half(), lambda: torch.randn(2, 8, 32).half())
text = nn.Sequential(nn.Embedding(40, 32), Block(), nn.Linear(32, 40))
train(text, lambda: torch.randint(0, 40, (2, 9)), lambda y: F.cross_entropy(y.flatten(0, 1), torch.arange(18)))
image = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
    nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
)
train(image, lambda: torch.randn(4, 3, 10, 10))
train(image.to(memory_format=torch.channels_last), lambda: torch.randn(4, 3, 10, 10).to(memory_format=torch.channels_last))
block = Block()
torch.compile(lambda x: checkpoint(block, x, use_reentrant=False))(torch.randn(2, 4, 32, requires_grad=True)).sum().backward()
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.compile(block)(torch.randn(2, 4, 32)).float().square().mean().backward()
torch.compile(ties)(torch.randint(0, 3, (5, 40)).float(), torch.randint(0, 3, (5, 50)))
torch.compile(unwritten)(torch.randn(50, 50))
torch.compile(random)(torch.randn(20, 20))
torch.compile(flips)(torch.arange(0, 400).reshape(20, 20) / 10)
torch.compile(unstable)(torch.randn(5000))
torch.compile(noisy)(torch.randn(500))
torch.compile(holes)(torch.randn(8, 8))
torch.compile(changing)(torch.randn(8, 16), torch.zeros(16))
whole = torch.randn(4, 6)
torch.compile(sharing)(whole, whole[1:])
torch.compile(depends)(torch.randn(50))
torch.compile(twice)(torch.randn(9, 4), torch.randint(0, 9, (40,)), torch.randn(40, 4))
"""

# Compilers that are wrong in one way each: a function that changes what a graph gives.
_BACKENDS = """
import torch


def that(change):
    return lambda gm, inputs: lambda *args: change(list(gm(*args)), args)


def first(change):
    def changed(out, args):
        out[0] = change(out[0])
        return out
    return that(changed)


def nan_at_one_place(x):
    x = x.clone()
    x[1, 2] = float("nan")
    return x


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * 1.01


def also_the_input(out, args):
    args[0].add_(0.1)
    return out


torch.manual_seed(0)
x = torch.randn(4, 6)
"""

WRONG = (
    # Random numbers that are much larger than what is wrong.
    (
        _BACKENDS
        + """
off = first(lambda y: y + 0.1)
torch.compile(lambda x: x + torch.randn_like(x), backend=off)(x)
torch.compile(lambda x: torch.bernoulli(x.sigmoid()) * 3 + x, backend=off)(x)
torch.compile(lambda x: torch.empty_like(x).uniform_(0, 5) + x, backend=off)(x)
torch.compile(lambda x: (torch.rand(6) * 2 + x.half()).float(), backend=off)(x)
w = torch.randn(6, 6, requires_grad=True)
torch.compile(lambda x: ((x + torch.randn_like(x)) @ w).sum(-1), backend=off)(x).sum().backward()
""",
        [("output 0", "values")] * 5,
    ),
    (
        _BACKENDS
        + """
torch.compile(lambda x: x.sin(), backend=first(lambda y: y + 1e-3))(x)
torch.compile(lambda x: x.cos(), backend=first(nan_at_one_place))(x)
torch.compile(lambda x: x.exp(), backend=first(lambda y: y.t().contiguous().t()))(x)
torch.compile(lambda x: x + 1, backend=first(lambda y: y.double()))(x)
torch.compile(lambda x: x.clone(), backend=that(lambda out, args: [args[0]]))(x)
""",
        [
            ("output 0", "values"),
            ("output 0", "nan"),
            ("output 0", "strides"),
            ("output 0", "dtype"),
            ("output 0", "aliasing"),
        ],
    ),
    (
        _BACKENDS
        + """
def grow(x):
    x.mul_(2)
    return x.sum()


def sometimes(x):
    return torch.where(x.abs() > 50, x * 1.01, x)


torch.compile(grow, backend=that(also_the_input))(x.clone())
torch.compile(lambda x: x.argmax(-1), backend=first(lambda y: y * 0))(x)
w = x.clone().requires_grad_()
torch.compile(lambda w: w.tanh(), backend=first(Scaled.apply))(w).sum().backward()
torch.compile(lambda w: w.square(), backend=first(lambda y: y.detach()))(w)
later = torch.compile(lambda x: x * 3, backend=first(sometimes))
for step in range(1, 6):
    later(x * (100 if step == 4 else 1))
""",
        [
            ("x after the call", "values"),
            ("output 0", "values"),
            ("gradient of w", "values"),
            ("output 0", "requires_grad"),
            ("output 0", "values"),
        ],
    ),
)

# A decomposition that is wrong in the backward pass alone, and no C++ in the way.
WRONG_GRADIENT = """
import torch
from torch._inductor.decomposition import decompositions

decompositions[torch.ops.aten.sigmoid_backward.default] = lambda grad, y: grad * y * (1 - y) * 1.01
torch.manual_seed(0)
net = torch.nn.Linear(8, 8)
step = torch.compile(lambda x: torch.sigmoid(net(x)).square(), backend="aot_eager_decomp_partition")
for _ in range(2):
    step(torch.randn(4, 8)).sum().backward()
"""

# Wrong only where no gradient arrives: the loss is of some rows alone. Nothing that is made up shows it.
MASKED_GRADIENT = """
import torch
from torch._inductor.decomposition import decompositions

right = lambda grad, y: grad * y * (1 - y)
decompositions[torch.ops.aten.sigmoid_backward.default] = lambda grad, y: torch.where(grad == 0, 1.0, right(grad, y))
torch.manual_seed(0)
net = torch.nn.Linear(8, 8)
step = torch.compile(lambda x: (net(x).sigmoid(), x.cos()), backend="aot_eager_decomp_partition")
for _ in range(2):
    found, _ = step(torch.randn(4, 8))
    found[1:].square().sum().backward()
"""

RELU = """
import torch
import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(32, 4))
step = torch.compile(net)
for _ in range(2):
    print(step(torch.randn(8, 16)).square().mean().item())
"""

# A backend of torch's own for such tests: wrong, and quick to compile.
NAMED = """
import torch

torch.manual_seed(0)
f = torch.compile(lambda x: torch.relu(x.sin() + 1) * 2, backend="relu_accuracy_error_TESTING_ONLY")
print(f(torch.randn(10)).sum())
"""

# The wrong value is a tenth of the random numbers beside it.
RELU_UNDER_NOISE = """
import torch
import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


def denoise(x):
    return torch.relu(x) * 0.1 + torch.randn_like(x)


torch.manual_seed(0)
step = torch.compile(denoise)
for _ in range(3):
    print(step(torch.randn(8, 16)).mean().item())
"""

# Inductor draws numbers of its own here, in spite of us; and a kernel has a generator that nobody can put back.
OTHER_NUMBERS = """
import torch
import torch._inductor.config as config

config.fallback_random = False
own = torch.Generator()


@torch.library.custom_op("mylib::jitter", mutates_args=())
def jitter(x: torch.Tensor) -> torch.Tensor:
    return x + torch.randn(x.shape, generator=own)


@jitter.register_fake
def _(x):
    return torch.empty_like(x)


torch.manual_seed(0)
x = torch.randn(8, 16)
torch.compile(lambda x: (x.sin() + torch.randn_like(x), x.cos()))(x)
torch.compile(lambda x: (jitter(x) * 2, x.cos()), backend="aot_eager")(x)
"""
