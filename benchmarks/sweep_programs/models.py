"""Programs that pass, for `benchmarks/sweep.py`: small models of many kinds, each evaluated, trained, or called in two sizes."""

from __future__ import annotations

from collections.abc import Iterator

EVALUATED = """

torch.manual_seed(1)
model = Model().eval()
fast = torch.compile(model)
n = 3
with torch.no_grad():
    for _ in range(2):
        given = {given}
        torch.testing.assert_close(fast(*given), model(*given))
"""
TRAINED = """

torch.manual_seed(2)
model = Model()
fast = torch.compile(model)
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.01)
n = 4
for step in range(2):
    given = {given}
    loss = fast(*given).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""
IN_TWO_SIZES = """

@torch.compile
def step(model, *given):
    return model(*given)


torch.manual_seed(3)
model = Model().eval()
with torch.inference_mode():
    for n in (3, 5):
        given = {given}
        torch.testing.assert_close(step(model, *given), model(*given))
print(n)
"""
USES = {"evaluated": EVALUATED, "trained": TRAINED, "in_two_sizes": IN_TWO_SIZES}
OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop")
MODULE = """

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
{parts}

    def forward(self, {names}):
{body}
"""

# Name, parts, names of what is given and how it is made (`n` is a size), body. One line of a part or of a body is one statement.
MODELS = (
    (
        "attention",
        "self.qkv, self.out = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)",
        "x",
        "torch.randn(n, 6, 8)",
        "q, k, v = self.qkv(x).chunk(3, -1)\nw = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1)\nreturn self.out(w @ v)",
    ),
    (
        "heads",
        "self.qkv = torch.nn.Linear(8, 24)",
        "x",
        "torch.randn(2, n, 8)",
        "q, k, v = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)\n"
        "return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)",
    ),
    (
        "rotary",
        "self.q = torch.nn.Linear(8, 8)",
        "x",
        "torch.randn(2, n, 8)",
        "angle = torch.arange(x.shape[1])[:, None] / 100 ** (torch.arange(4) / 4)\na, b = self.q(x).chunk(2, -1)\n"
        "return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)",
    ),
    (
        "rms_norm",
        "self.gain = torch.nn.Parameter(torch.ones(16))",
        "x",
        "torch.randn(n, 16)",
        "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain",
    ),
    (
        "gated_mlp",
        "self.up, self.gate, self.down = (torch.nn.Linear(a, b) for a, b in ((6, 12), (6, 12), (12, 6)))",
        "x",
        "torch.randn(n, 6)",
        "return x + self.down(F.silu(self.gate(x)) * self.up(x))",
    ),
    (
        "low_rank",
        "self.base = torch.nn.Linear(8, 8)\nself.a = torch.nn.Parameter(torch.randn(8, 2))\n"
        "self.b = torch.nn.Parameter(torch.zeros(2, 8))",
        "x",
        "torch.randn(n, 8)",
        "return self.base(x) + x @ self.a @ self.b * 0.5",
    ),
    (
        "experts",
        "self.router = torch.nn.Linear(6, 3)\nself.w = torch.nn.Parameter(torch.randn(3, 6, 6) / 3)",
        "x",
        "torch.randn(n, 6)",
        "share, which = self.router(x).softmax(-1).topk(2)\nall_of_them = torch.einsum('nd,edf->nef', x, self.w)\n"
        "return (all_of_them.gather(1, which[..., None].expand(-1, -1, 6)) * share[..., None]).sum(1)",
    ),
    (
        "classifier",
        "self.conv, self.head = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 5)",
        "x",
        "torch.randn(n, 3, 8, 8)",
        "return self.head(F.max_pool2d(self.conv(x).relu(), 2).mean((2, 3)))",
    ),
    (
        "residual",
        "self.one, self.two = (torch.nn.Conv2d(4, 4, 3, padding=1) for _ in range(2))\nself.norm = torch.nn.GroupNorm(2, 4)",
        "x",
        "torch.randn(n, 4, 6, 6)",
        "return F.relu(x + self.two(self.norm(self.one(x)).relu()))",
    ),
    (
        "unet",
        "self.down = torch.nn.Conv2d(2, 4, 3, stride=2, padding=1)\nself.up = torch.nn.Conv2d(6, 2, 3, padding=1)",
        "x",
        "torch.randn(n, 2, 8, 8)",
        "deep = F.interpolate(self.down(x).tanh(), scale_factor=2, mode='nearest')\nreturn self.up(torch.cat([x, deep], 1))",
    ),
    (
        "squeeze",
        "self.conv, self.gate = torch.nn.Conv2d(3, 6, 1), torch.nn.Linear(6, 6)",
        "x",
        "torch.randn(n, 3, 5, 5)",
        "h = self.conv(x)\nreturn h * self.gate(h.mean((2, 3))).sigmoid()[:, :, None, None]",
    ),
    (
        "separable",
        "self.depth = torch.nn.Conv2d(4, 4, 3, groups=4, padding=1)\nself.point = torch.nn.Conv2d(4, 8, 1)",
        "x",
        "torch.randn(n, 4, 7, 7)",
        "return F.hardswish(self.point(self.depth(x)))",
    ),
    (
        "patches",
        "self.cut, self.place = torch.nn.Conv2d(3, 8, 4, stride=4), torch.nn.Parameter(torch.zeros(1, 4, 8))",
        "x",
        "torch.randn(n, 3, 8, 8)",
        "return F.layer_norm(self.cut(x).flatten(2).transpose(1, 2) + self.place, (8,))",
    ),
    (
        "batch_norm",
        "self.linear, self.norm = torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6)",
        "x",
        "torch.randn(n + 4, 6)",
        "return F.leaky_relu(self.norm(self.linear(x)), 0.1)",
    ),
    (
        "waves",
        "self.conv = torch.nn.Conv1d(1, 4, 5, dilation=2, padding=4)",
        "x",
        "torch.randn(n, 1, 20)",
        "h = self.conv(x)\nreturn F.glu(h, 1).abs().mean(-1)",
    ),
    (
        "recurrent",
        "self.cell = torch.nn.GRUCell(4, 6)",
        "x",
        "torch.randn(3, n, 4)",
        "h = x.new_zeros(x.shape[1], 6)\nfor step in x:\n    h = self.cell(step, h)\nreturn h",
    ),
    (
        "highway",
        "self.steps = torch.nn.ModuleList(torch.nn.Linear(5, 10) for _ in range(3))",
        "x",
        "torch.randn(n, 5)",
        "for step in self.steps:\n    change, gate = step(x).chunk(2, -1)\n"
        "    x = torch.lerp(x, change.tanh(), gate.sigmoid())\nreturn x",
    ),
    (
        "words",
        "self.table, self.head = torch.nn.Embedding(20, 6), torch.nn.Linear(6, 3)",
        "i",
        "torch.randint(0, 20, (n, 7))",
        "known = (i != 0)[..., None]\nreturn self.head((self.table(i) * known).sum(1) / known.sum(1).clamp(min=1))",
    ),
    (
        "bag_of_words",
        "self.bag = torch.nn.EmbeddingBag(15, 4, mode='sum')",
        "i",
        "torch.randint(0, 15, (n, 5))",
        "return F.normalize(self.bag(i), dim=-1)",
    ),
    (
        "next_word",
        "self.table, self.mix = torch.nn.Embedding(12, 6), torch.nn.Linear(6, 6)",
        "i",
        "torch.randint(0, 12, (n, 6))",
        "h = self.mix(self.table(i)).cumsum(1)\n"
        "return F.cross_entropy((h @ self.table.weight.T)[:, :-1].flatten(0, 1), i[:, 1:].flatten())",
    ),
    (
        "graph",
        "self.send, self.keep = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)",
        "x, edges",
        "torch.randn(n + 2, 4), torch.randint(0, n + 2, (2, 9))",
        "sent = self.send(x)[edges[0]]\nreturn self.keep(x) + torch.zeros_like(x).index_add(0, edges[1], sent)",
    ),
    (
        "neighbours",
        "self.scale = torch.nn.Parameter(torch.ones(3))",
        "x",
        "torch.randn(n + 3, 3)",
        "far = torch.cdist(x * self.scale, x * self.scale).square()\nreturn torch.exp(-far).sum(-1).log()",
    ),
    (
        "autoencoder",
        "self.code, self.back = torch.nn.Linear(10, 4), torch.nn.Linear(2, 10)",
        "x, noise",
        "torch.randn(n, 10), torch.randn(n, 2)",
        "mean, spread = self.code(x).chunk(2, -1)\nreturn F.mse_loss(self.back(mean + noise * F.softplus(spread)), x)",
    ),
    (
        "diffusion",
        "self.net, self.time = torch.nn.Linear(6, 6), torch.nn.Linear(2, 6)",
        "x, t",
        "torch.randn(n, 6), torch.rand(n, 1)",
        "seen = torch.cat([torch.sin(t), torch.cos(t)], -1)\nreturn x - t.sqrt() * F.silu(self.net(x) + self.time(seen))",
    ),
    (
        "contrast",
        "self.left, self.right = torch.nn.Linear(5, 4), torch.nn.Linear(3, 4)",
        "a, b",
        "torch.randn(n, 5), torch.randn(n, 3)",
        "a, b = F.normalize(self.left(a), dim=-1), F.normalize(self.right(b), dim=-1)\n"
        "return F.cross_entropy(a @ b.T * 5, torch.arange(a.shape[0]))",
    ),
    (
        "boxes",
        "self.head = torch.nn.Linear(6, 4)",
        "x, wanted",
        "torch.randn(n, 6), torch.rand(n, 4)",
        "low, size = self.head(x).sigmoid().chunk(2, -1)\nhigh = torch.minimum(low + size, wanted[:, :2] + wanted[:, 2:])\n"
        "common = (high - torch.maximum(low, wanted[:, :2])).clamp(min=0).prod(-1)\n"
        "return common / (size.prod(-1) + wanted[:, 2:].prod(-1) - common + 0.1)",
    ),
    (
        "mixture",
        "self.mean, self.weight = torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.zeros(3))",
        "x",
        "torch.randn(n, 2)",
        "far = (x[:, None] - self.mean).square().sum(-1)\nreturn -torch.logsumexp(self.weight.log_softmax(0) - far / 2, -1)",
    ),
    (
        "clusters",
        "self.centres = torch.nn.Parameter(torch.randn(4, 3))",
        "x",
        "torch.randn(n + 6, 3)",
        "share = (-torch.cdist(x, self.centres)).softmax(-1)\nreturn (share.T @ x) / share.sum(0)[:, None]",
    ),
    (
        "transport",
        "self.cost = torch.nn.Parameter(torch.rand(5, 5))",
        "a",
        "torch.rand(n, 5).softmax(-1)",
        "kernel, v = (-self.cost).exp(), torch.ones_like(a)\nfor _ in range(4):\n"
        "    u = a / (v @ kernel.T)\n    v = 0.2 / (u @ kernel)\nreturn u.log() + v.log()",
    ),
    (
        "heat",
        "self.rate = torch.nn.Parameter(torch.tensor(0.1))",
        "u",
        "torch.rand(n, 12)",
        "for _ in range(5):\n    u = u + self.rate * (u.roll(1, -1) - 2 * u + u.roll(-1, -1))\nreturn u",
    ),
    (
        "springs",
        "self.k = torch.nn.Parameter(torch.ones(6))",
        "x, v",
        "torch.randn(n, 6), torch.randn(n, 6)",
        "for _ in range(4):\n    v = v - 0.01 * self.k * x.sin()\n    x = x + 0.01 * v\nreturn torch.stack([x, v])",
    ),
    (
        "filter",
        "self.noise = torch.nn.Parameter(torch.ones(2))",
        "seen",
        "torch.randn(4, n)",
        "state, spread = torch.zeros_like(seen[0]), torch.ones_like(seen[0])\nfor value in seen:\n"
        "    spread = spread + self.noise[0].exp()\n    gain = spread / (spread + self.noise[1].exp())\n"
        "    state, spread = state + gain * (value - state), (1 - gain) * spread\nreturn state",
    ),
    (
        "spectrum",
        "self.gain = torch.nn.Parameter(torch.ones(9))",
        "wave",
        "torch.randn(n, 16)",
        "return torch.fft.irfft(torch.fft.rfft(wave) * self.gain, n=16).abs().log1p()",
    ),
    (
        "pooling",
        "self.conv = torch.nn.Conv2d(2, 3, 3)",
        "x",
        "torch.randn(n, 2, 9, 9)",
        "h = F.elu(self.conv(F.pad(x, (1, 1, 1, 1), mode='reflect')))\nreturn F.adaptive_avg_pool2d(h, 3) + F.avg_pool2d(h, 3)",
    ),
    (
        "ranking",
        "self.score = torch.nn.Linear(4, 1)",
        "x",
        "torch.randn(n, 5, 4)",
        "best, place = self.score(x).squeeze(-1).sort(descending=True)\nreturn best / torch.log2(place + 2.0)",
    ),
    (
        "masked",
        "self.mix = torch.nn.Linear(6, 6)",
        "x, lengths",
        "torch.randn(n, 5, 6), torch.randint(1, 6, (n,))",
        "blank = torch.arange(5)[None] >= lengths[:, None]\n"
        "return self.mix(x).masked_fill(blank[..., None], 0.0).sum(1) / lengths[:, None]",
    ),
    (
        "spline",
        "self.height = torch.nn.Parameter(torch.rand(8))",
        "x",
        "torch.rand(n, 3)",
        "place = x * 6.99\nlow = place.floor().long()\nreturn torch.lerp(self.height[low], self.height[low + 1], place - low)",
    ),
)


def passing() -> Iterator[tuple[str, str]]:
    """Names and texts without their head: every model in one use, then in the next."""
    for kind, use in USES.items():
        for number, (name, parts, names, given, body) in enumerate(MODELS):
            module = MODULE.format(parts=_within(parts), names=names, body=_within(body))
            optimizer = OPTIMIZERS[number % len(OPTIMIZERS)]
            yield f"{name}_{kind}", module + use.format(given=f"({given},)", optimizer=optimizer)


def _within(lines: str) -> str:
    return "\n".join(f"        {line}" for line in lines.split("\n"))
