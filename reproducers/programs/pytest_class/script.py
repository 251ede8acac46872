"""Tests of a small library, as pytest runs them: pytest script.py"""

import pytest
import torch
import torch._inductor.config as inductor_config


def soft_clip(x, low, high):
    return torch.relu(x - low) - torch.relu(x - high) + low


def normalise(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()


@pytest.fixture(autouse=True)
def faulty_compiler():
    torch._dynamo.reset()
    with inductor_config.patch({"cpp.inject_relu_bug_TESTING_ONLY": "compile_error"}):
        yield


class TestOperators:
    @pytest.mark.parametrize("width", [3, 8])
    def test_normalise(self, width):
        x = torch.randn(4, width)
        torch.testing.assert_close(torch.compile(normalise)(x), normalise(x))

    @pytest.mark.parametrize("high", [1.0, 2.0])
    def test_soft_clip(self, high):
        x = torch.linspace(-3, 3, 13)
        torch.testing.assert_close(torch.compile(soft_clip)(x, -1.0, high), soft_clip(x, -1.0, high))
