"""Bugs of Inductor. Those of `relu_` are injected by its own testing switch: they look alike and are three."""

from __future__ import annotations

from sweep_programs.forms import TRAINED, Bug, checked

INJECTED = """
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "{kind}"
x = torch.randn({rows}, 5)
expected = {body}
torch.testing.assert_close(torch.compile(lambda x: {body})(x), expected)
"""
SORTED = """

def sorted_network(x):
    place = torch.arange(x.shape[-1])
    size = 2
    while size <= x.shape[-1]:
        step = size // 2
        while step > 0:
            other = x[..., place ^ step]
            low = ((place & step) == 0) == ((place & size) == 0)
            x = torch.where(low, torch.maximum(x, other), torch.minimum(x, other))
            step //= 2
        size *= 2
    return x


def choose(x):
    return {body}


x = torch.randn({rows}, {columns})
torch.testing.assert_close(torch.compile(choose)(x), choose(x))
"""
EMPTY_BATCH = """
head = torch.nn.{layer}
fast = torch.compile(head)
for rows in {batches}:
    x = torch.randn(rows, {planes}, {sizes}, requires_grad=True)
    wanted = torch.autograd.grad(head(x){loss}, tuple(head.parameters()))
    found = torch.autograd.grad(fast(x){loss}, tuple(head.parameters()))
    torch.testing.assert_close(found, wanted)
"""
CONSTANTS = """

def scores():
    a = torch.ones({shape})
    return {body}


print(scores())
print(torch.compile(scores)())
"""
RELU_SETTING = "import torch._inductor.config\n\ntorch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = {kind!r}\n"
THROWS = RELU_SETTING.format(kind="runtime_error")
WRONG = RELU_SETTING.format(kind="accuracy")
DOES_NOT_BUILD = RELU_SETTING.format(kind="compile_error")
GRADIENT = """
x = torch.randn({rows}, requires_grad=True)


def gradient(step):
    {loss}
    return torch.autograd.grad(loss, x)[0]


torch.testing.assert_close(gradient(torch.compile(lambda x: {body})), gradient(lambda x: {body}))
"""

BUGS = (
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
            """
table = torch.randn(12, 6)


def bucket(t):
    return table[(t // 0.1).long().clamp(0, 11)].sum(1)


t = torch.tensor([1.0, 0.35, 0.72])
torch.testing.assert_close(torch.compile(bucket)(t), bucket(t))
""",
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
            """

def discounted(rewards):
    steps = torch.ones_like(rewards).cumsum(-1) - 1
    return (rewards * 0.9**steps).sum()


step = torch.compile(discounted, dynamic=False)
for rewards in (torch.tensor([1.0, 0.5, 2.0]), torch.tensor(3.0)):
    torch.testing.assert_close(step(rewards), discounted(rewards))
""",
        ),
    ),
    Bug(
        "adaptive_pool_sizes",
        "inductor",
        (
            *tuple(
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
    ),
    Bug(
        "relu_does_not_build",
        "inductor",
        (
            INJECTED.format(kind="compile_error", rows=8, body="x.relu()"),
            INJECTED.format(kind="compile_error", rows=3, body="F.relu(x.sin() @ x.t()).sum(0)"),
            DOES_NOT_BUILD
            + """
embed, head = torch.nn.Embedding(30, 8), torch.nn.Linear(8, 4)
words = torch.nested.nested_tensor([torch.randint(0, 30, (n,)) for n in (3, 5, 2)], layout=torch.jagged)
tag = torch.compile(lambda words: torch.relu(head(embed(words))) * 2)
with torch.no_grad():
    print([part.shape for part in tag(words).unbind()])
""",
            DOES_NOT_BUILD
            + GRADIENT.format(
                rows="5", loss="loss = step(x).sum()", body="torch.nn.functional.silu(x) + torch.relu(x.detach() * 2)"
            ),
        ),
    ),
    Bug(
        "relu_is_wrong",
        "inductor",
        (
            *tuple(INJECTED.format(kind="accuracy", rows=n, body="(x + 1).relu() * 2") for n in (6, 64)),
            WRONG
            + """

class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.relu(1 - x.abs())


x = torch.randn(4, 3, requires_grad=True)
for step in (Clip.apply, torch.compile(Clip.apply)):
    (step(x).exp().sum() * 1.0).backward()
print(x.grad.norm())
""",
            WRONG
            + """
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
fast = torch.compile(model)
with torch.no_grad():
    print(fast(torch.randn(5, 6)).shape)
""",
        ),
    ),
    Bug(
        "sorting_network",
        "inductor",
        (
            SORTED.format(body="sorted_network(x)", rows=3, columns=4),
            SORTED.format(body="(x * (x >= sorted_network(x)[..., 1:2])).softmax(-1)", rows=2, columns=8),
        ),
    ),
    Bug(
        "empty_batch_gradient",
        "inductor",
        (
            EMPTY_BATCH.format(layer="Conv2d(4, 6, 3)", batches="(3, 0)", planes=4, sizes="9, 9", loss=".relu().sum()"),
            EMPTY_BATCH.format(layer="Conv2d(2, 3, 3)", batches="(0,)", planes=2, sizes="7, 5", loss=".tanh().sum()"),
        ),
    ),
    Bug(  # pytorch/pytorch#188225
        "nan_as_an_index",
        "inductor",
        (
            CONSTANTS.format(shape="2, 2", body="torch.arccosh(torch.log2(torch.atan2(a, a))).softmax(0)"),
            CONSTANTS.format(shape="3, 2", body="torch.log2(-a).softmax(-1) + 1"),
        ),
    ),
    Bug(
        "relu_throws",
        "inductor",
        (
            THROWS + checked("given = (torch.randn(4, 6),)", "x", "x + F.relu(x - x.mean(-1, keepdim=True))"),
            THROWS + checked("given = (torch.randn(3, 4),)", "x", "self.inner(x).relu().sum()", text=TRAINED),
        ),
    ),
)
