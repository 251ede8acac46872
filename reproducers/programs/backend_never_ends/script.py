"""A backend that looks for a fixed point it never finds."""

import torch
from torch import nn


def simplified(code, passes=0):
    return code.replace("  ", " ") + " " * (passes % 2)


def fixed_point(gm, example_inputs):
    code, passes = gm.code, 0
    while True:
        passes += 1
        shorter = simplified(code, passes)
        if shorter == code and passes % 2 == 0:
            break
        code = shorter + " "
        code = code[-4000:]
    return gm.forward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4)

    def forward(self, x):
        return self.one(x).tanh().sum(-1)


print(torch.compile(Net(), backend=fixed_point)(torch.randn(2, 4)))
