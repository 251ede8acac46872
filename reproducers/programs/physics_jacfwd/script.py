"""A residual of a differential equation, by forward-mode derivatives of a network."""

import torch
import torch._inductor.config as inductor_config
from torch import nn
from torch.func import functional_call, jacfwd, vmap

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
parameters = dict(net.named_parameters())


def solution(point):
    return functional_call(net, parameters, (point,)).squeeze(-1)


def residual(points):
    slope = vmap(jacfwd(solution))(points)
    return torch.relu(slope[:, 0] + 0.5 * slope[:, 1]).mean()


print(torch.compile(residual)(torch.rand(6, 2)))
