"""A gradient known to be zero has no memory: what compares calls neither copies it nor puts it elsewhere."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
copies = importlib.import_module(f"{boot.PACKAGE}.compare.copies")
modes = importlib.import_module(f"{boot.PACKAGE}.compare.modes")


def test_an_argument_is_given_as_it_is() -> None:
    zero, ones = torch._efficientzerotensor((3,)), torch.ones(3)
    (same, copy), leaves = copies.Copier(torch, [zero, ones]).copies()
    assert same is zero
    assert copy is not ones
    assert copy.tolist() == [1.0, 1.0, 1.0]
    assert leaves == []


@pytest.mark.parametrize(
    "mode",
    [
        lambda: modes.surrounded(torch, 0x41),
        lambda: modes.nudged(torch, False),
        lambda: modes.Overflows(torch).mode(),
        lambda: modes.doubled(torch),
    ],
)
def test_a_result_stays_where_it_is(mode: Callable[[], Any]) -> None:
    with mode():
        zero = torch._efficientzerotensor((3,))
        total = zero + torch.ones(3)
    assert zero._is_zerotensor()
    assert total.tolist() == pytest.approx([1.0, 1.0, 1.0], abs=1e-4)
