"""torch.compile without a compiler: what stands in for it on the uncompiled rung."""

from __future__ import annotations

import importlib

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
boundary = importlib.import_module(f"{boot.PACKAGE}.hooks.boundary")


def test_what_cannot_be_called_is_refused_as_torch_compile_refuses_it() -> None:
    """Else a mistake of a candidate's own would pass there, and be told as a failure of the compiler."""
    with pytest.raises(AssertionError, match="callable"):
        boundary.uncompiled(torch, torch.ones(1))


def test_a_function_stays_itself_and_a_module_is_wrapped() -> None:
    def step(x: object) -> object:
        return x

    assert boundary.uncompiled(torch, step) is step
    assert "_orig_mod" in vars(boundary.uncompiled(torch, torch.nn.Linear(2, 2)))["_modules"]
