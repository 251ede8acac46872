"""A custom operator that clamps its argument in place and does not say so."""

import torch


@torch.library.custom_op("train::clamp_norm", mutates_args=())
def clamp_norm(x: torch.Tensor, limit: float) -> torch.Tensor:
    norm = x.norm()
    if norm > limit:
        x.mul_(limit / norm)
    return norm.clone()


@clamp_norm.register_fake
def _(x, limit):
    return x.new_empty(())


def step(weights, update):
    moved = weights + update
    norm = clamp_norm(moved, 1.0)
    return moved * 2, norm


torch.manual_seed(0)
weights, update = torch.randn(6, 6), torch.randn(6, 6)
want = step(weights, update)
got = torch.compile(step)(weights, update)
for mine, other in zip(got, want):
    torch.testing.assert_close(mine, other)
