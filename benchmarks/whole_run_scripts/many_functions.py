"""Many functions: 30 features of a table, each compiled by itself; the 24th alone fails, so 23 are built before it."""

import torch
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"

FEATURES = (
    lambda x: x.sin() * 2,
    lambda x: x.cos() + x,
    lambda x: x.exp().mean(0),
    lambda x: (x - x.mean(0)) * 3,
    lambda x: x.abs().sqrt(),
    lambda x: torch.tanh(x) * x,
    lambda x: torch.sigmoid(x).sum(1),
    lambda x: x.square().sum(0),
    lambda x: x.amax(1) - x.amin(1),
    lambda x: torch.softmax(x, 1),
    lambda x: torch.log1p(x.abs()),
    lambda x: torch.where(x > 0, x, x * 0.1),
    lambda x: x.std(0),
    lambda x: x.flip(0) + x,
    lambda x: x.roll(1, 1) * x,
    lambda x: torch.cat((x, -x), 1) + 1,
    lambda x: x.t().contiguous() * 2,
    lambda x: x[:, ::2] + x[:, 1::2],
    lambda x: torch.atan2(x, x + 1),
    lambda x: x.round() - x,
    lambda x: x.floor() * x.ceil(),
    lambda x: torch.erf(x) + 1,
    lambda x: x.reciprocal() * x,
    lambda x: torch.relu(x - x.mean(1, keepdim=True)).sum(1),
    lambda x: x.sign() * x.abs(),
    lambda x: torch.hypot(x, x + 2),
    lambda x: x.pow(3).mean(1),
    lambda x: torch.logaddexp(x, -x),
    lambda x: x.unsqueeze(2) * x.unsqueeze(1),
    lambda x: torch.expm1(x).sum(),
)
compiled = [torch.compile(feature) for feature in FEATURES]

torch.manual_seed(0)
table = torch.randn(64, 8)
for number, feature in enumerate(compiled, 1):
    print(f"feature {number}: {tuple(feature(table).shape)}", flush=True)
