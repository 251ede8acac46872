"""Span lengths for masked language modelling. Nothing is wrong here: it runs compiled.

`geometric_` on integers has no decomposition that works, so the debugging backend
aot_eager_decomp_partition fails, while Inductor, which falls back, does not.
"""

import torch


@torch.compile
def span_lengths(mask: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(mask).geometric_(0.2).clamp(max=10) * mask


torch.manual_seed(0)
lengths = span_lengths(torch.ones(64, dtype=torch.int64))
assert 1 <= int(lengths.min()) and int(lengths.max()) <= 10
print("lengths in range")
