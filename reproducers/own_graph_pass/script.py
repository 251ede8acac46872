"""A post-grad pass that knows one constant only."""

import torch
import torch._inductor.config


def fuse_scale(graph):
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.mul.Tensor:
            scale = {"half": 0.5}[str(node.args[1])]
            node.args = (node.args[0], scale)


torch._inductor.config.post_grad_custom_pre_pass = fuse_scale


class Net(torch.nn.Module):
    def forward(self, x):
        return (x * 3.0).relu().sum()


net = Net()
x = torch.randn(8)
print(net(x))
print(torch.compile(net)(x))
