"""A small encoder with a post-grad pass of our own that fuses what it believes to be a residual."""

import torch
import torch._inductor.config as inductor_config
from torch import nn


def fold_residuals(graph):
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.add.Tensor:
            left, right = node.args
            if right.target is torch.ops.aten.mul.Tensor:  # right may be a number
                node.replace_all_uses_with(left)
                graph.erase_node(node)
    graph.lint()


inductor_config.post_grad_custom_pre_pass = fold_residuals


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        normed = self.norm(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return self.mlp(x) + 1


torch.manual_seed(0)
encoder = nn.Sequential(*(Block(16) for _ in range(2))).eval()
with torch.no_grad():
    print(torch.compile(encoder)(torch.randn(2, 5, 16)).norm())
