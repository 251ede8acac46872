"""A half-precision layer norm, compared more finely than half precision holds."""

import torch
from torch import nn


def block(x, weight):
    hidden = nn.functional.gelu(x * weight + 0.1)
    return nn.functional.layer_norm(hidden, hidden.shape[-1:]) * hidden.sigmoid()


torch.manual_seed(0)
x, weight = torch.randn(8, 64).bfloat16(), torch.randn(64).bfloat16()
want, got = block(x, weight), torch.compile(block)(x, weight)
torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
