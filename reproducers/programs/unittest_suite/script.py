"""A unittest suite whose second case meets a wrong value: python script.py"""

import unittest

import torch
import torch._inductor.config as inductor_config
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


class Pooler(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 6)

    def forward(self, x, mask):
        weight = torch.where(mask, self.project(x), torch.zeros(())).relu()
        return (x * weight).sum(1) / mask.sum(1)


class PoolerTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.pooler = Pooler().requires_grad_(False)
        self.x = torch.randn(2, 5, 6)

    def test_shape(self):
        mask = torch.ones(2, 5, 1, dtype=torch.bool)
        self.assertEqual(tuple(self.pooler(self.x, mask).shape), (2, 6))

    def test_compiled(self):
        mask = torch.rand(2, 5, 1) > 0.3
        want = self.pooler(self.x, mask)
        got = torch.compile(self.pooler)(self.x, mask)
        self.assertTrue(torch.allclose(got, want, atol=1e-4))


if __name__ == "__main__":
    unittest.main()
