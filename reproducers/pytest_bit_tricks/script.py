"""Float tricks on the bit pattern, tested with pytest: run as `pytest script.py`."""

import pytest
import torch


def flip_sign(values: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Flips the sign bit in place: `bits` is the same memory as `values`, as integers."""
    bits.bitwise_xor_(-(2**31))
    return values * 2


def exponent(values: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    return (bits >> 23 & 0xFF) - 127 + 0 * values.int()


@pytest.fixture
def values() -> torch.Tensor:
    return torch.tensor([1.0, -2.5, 1024.0, 0.1])


@pytest.mark.parametrize("function", [exponent, flip_sign])
def test_same_as_eager(function, values):
    copy = values.clone()
    expected = function(copy, copy.view(torch.int32))
    actual = torch.compile(function)(values, values.view(torch.int32))
    torch.testing.assert_close(actual, expected)
