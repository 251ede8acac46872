"""Which operators are torch's own, also in releases that have new ones."""

from __future__ import annotations

import functools
import importlib
from types import FunctionType
from typing import Any

import pytest

from triage.agent import boot
from triage.model.effects import REGISTERED_NAMESPACES

torch = pytest.importorskip("torch")
boot.load_agent()
compat = importlib.import_module(f"{boot.PACKAGE}.compat")
operators = importlib.import_module(f"{boot.PACKAGE}.capture.operators")
custom_ops = pytest.importorskip("torch._library.custom_ops")  # torch 2.4 and newer


def test_the_orchestrator_knows_the_same_namespaces() -> None:
    ours = {"torchvision", "torchaudio"}  # are custom ones to the agent: their kernels may be to blame
    assert REGISTERED_NAMESPACES - ours == set(operators._TORCHS.split())


class Definition:
    """As `torch.library.custom_op` makes one; torch does not keep it alive."""

    def __init__(self, kernel: Any) -> None:
        self._init_fn = kernel


def kernel(x: Any) -> Any:
    return x.clone()


def of_torch(function: Any, name: str = "kernel") -> FunctionType:
    code = function.__code__.replace(co_filename=f"{compat.home_of_torch()}_later/ops.py")
    made = FunctionType(code, {}, name)
    made.__qualname__ = name
    return made


def handed_on(x: Any) -> Any:
    """What a decorator of torch makes of a program's function."""


@pytest.mark.parametrize(
    ("function", "torchs"),
    [
        (of_torch(kernel), True),
        (kernel, False),
        (functools.wraps(kernel)(of_torch(handed_on)), False),
        (of_torch(handed_on, "triton_op.<locals>.backend_fn"), False),
    ],
    ids=["torch's", "the program's", "decorated", "triton_op"],
)
def test_an_operator_of_a_namespace_that_nobody_knows_is_whose_its_kernel_is(
    monkeypatch: pytest.MonkeyPatch, function: Any, torchs: bool
) -> None:
    definition = Definition(function)
    monkeypatch.setitem(custom_ops.OPDEFS, "later::op", definition)
    assert operators.is_torchs("later::op") is torchs


def test_a_decorated_operator_is_registered_where_the_program_defines_it(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = Definition(functools.wraps(kernel)(of_torch(handed_on)))
    monkeypatch.setitem(custom_ops.OPDEFS, "later::op", definition)
    assert compat.registered_at("later::op") == f"{__file__}:{kernel.__code__.co_firstlineno}"
