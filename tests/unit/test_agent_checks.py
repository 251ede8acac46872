"""What a failing check compared is read from where it failed."""

import importlib
import types
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
checks = importlib.import_module(f"{boot.PACKAGE}.capture.checks")

A = torch.tensor([1.0, 2.0, 3.0])
B = torch.tensor([1.0, 2.5, 3.0])
NAN = torch.tensor([1.0, 2.0, float("nan")])
INF = torch.tensor([1.0, 2.0, float("inf")])
WEIGHT = types.SimpleNamespace(grad=B)


def assert_close() -> None:
    torch.testing.assert_close(A, B)


def assert_close_of_a_tree() -> None:
    torch.testing.assert_close({"loss": A, "out": [A * 1.000001, NAN]}, {"loss": A, "out": [A, A]})


def numpys() -> None:
    np.testing.assert_allclose(A.numpy(), B.numpy())


def unittests() -> None:
    unittest.TestCase().assertEqual(A[1].item(), B[1].item())


def bare_allclose() -> None:
    assert torch.allclose(A, INF), "differs"


def method_that_compares() -> None:
    assert A.equal(WEIGHT.grad)


def difference() -> None:
    assert (A.double() - B.double()).abs().max() < 1e-4, f"{(A - B).abs().max()}"


def raised_by_hand() -> None:
    if not torch.equal(A, B):
        raise RuntimeError("no")


def strides() -> None:
    x, y = torch.ones(2, 3), torch.ones(3, 2).t()
    assert x.stride() == y.stride()


def dtypes() -> None:
    torch.testing.assert_close(A, A.double())


def shapes() -> None:
    x, y = A, A[:2]
    assert x.shape == y.shape


def signs_of_zeros() -> None:
    x, y = torch.tensor(0.0), torch.tensor(-0.0)
    assert torch.equal(torch.signbit(x), torch.signbit(y))


def structure() -> None:
    torch.testing.assert_close([A, A], [A])


def numpys_of_another_dtype() -> None:
    np.testing.assert_allclose(A.numpy(), B.double().numpy())


def numpys_of_a_list() -> None:
    np.testing.assert_allclose(A.numpy(), [1.0, 2.5, 3.0])


def numpys_of_a_number() -> None:
    np.testing.assert_allclose(A.numpy(), 2.0)


def bare_with_a_number() -> None:
    assert (A - 2.0).abs().max() < 1e-3


def broadcast() -> None:
    assert torch.allclose(A, B[None])


def dtype_not_checked() -> None:
    torch.testing.assert_close(A, B.double(), check_dtype=False)


@pytest.mark.parametrize(
    "check",
    [numpys_of_another_dtype, numpys_of_a_list, numpys_of_a_number, bare_with_a_number, broadcast, dtype_not_checked],
)
def test_what_a_check_does_not_look_at_is_not_what_failed(check: Callable[[], None]) -> None:
    found = seen(check)
    assert found is not None and found["kind"] == "values" and found["relative"] > 0.1


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        (assert_close, "values"),
        (assert_close_of_a_tree, "nan"),
        (numpys, "values"),
        (unittests, "values"),
        (bare_allclose, "inf"),
        (method_that_compares, "values"),
        (difference, "values"),
        (raised_by_hand, "values"),
        (strides, "strides"),
        (dtypes, "dtype"),
        (shapes, "shape"),
        (signs_of_zeros, "zero_sign"),
        (structure, "structure"),
    ],
)
def test_the_kind(check: Callable[[], None], kind: str) -> None:
    found = seen(check)
    assert found is not None and found["kind"] == kind


def test_the_size() -> None:
    found = seen(assert_close)
    assert (found["difference"], found["dtype"]) == (0.5, "float32")
    assert 0.1 < found["relative"] < 0.2


def number_alone() -> None:
    worst = 1.0
    assert worst < 1e-3


def call_that_may_do_anything() -> None:
    assert torch.equal(A, make())


def make() -> Any:
    raise SystemExit("evaluated a second time")


@pytest.mark.parametrize("check", [number_alone, call_that_may_do_anything])
def test_what_cannot_be_told_is_not_guessed(check: Callable[[], None]) -> None:
    try:
        check()
    except (AssertionError, SystemExit) as error:
        assert checks.compared(error if isinstance(error, Exception) else AssertionError()) is None
    else:
        raise AssertionError("the check passes")


def seen(check: Callable[[], None]) -> Any:
    try:
        check()
    except (AssertionError, RuntimeError) as error:
        return checks.compared(error)
    raise AssertionError("the check passes")
