"""A two-layer network checked against eager. The bug is injected: every compiled relu is off by one."""

import torch
import torch.nn as nn

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"

torch.manual_seed(0)
net = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
x = torch.randn(5, 8)
with torch.no_grad():
    expected = net(x)
    actual = torch.compile(net)(x)
torch.testing.assert_close(actual, expected)
print("same numbers")
