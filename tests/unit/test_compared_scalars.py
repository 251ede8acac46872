"""Eager is measured by what it computes: with Python's numbers rounded to float32 where all tensors are of that."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from triage.agent import boot

torch = pytest.importorskip("torch")
boot.load_agent()
call, kept, scalars = (
    importlib.import_module(f"{boot.PACKAGE}.compare.{name}") for name in ("call", "kept", "scalars")
)


def wrong(graph: Callable[..., Any], compiled: Callable[..., Any], *args: Any) -> list[dict[str, Any]]:
    gm = torch.fx.symbolic_trace(graph)
    made = call.Call(torch, compiled, kept.Kept(torch, gm), args, False)
    with made.as_it_began():
        return made.wrong(compiled(*args), args)


@pytest.mark.parametrize(
    ("graph", "compiled"),
    [
        (lambda x: (torch.remainder(x, 0.1),), lambda x: (torch.zeros_like(x),)),
        (lambda x: (torch.fmod(x, 0.1),), lambda x: (torch.zeros_like(x),)),
        (lambda x: (x // 0.1,), lambda x: (x // 0.1 + 1,)),
        (lambda x: (torch.div(x, 0.1, rounding_mode="floor"),), lambda x: (torch.floor(x / 0.1) + 1,)),
    ],
)
def test_eager_is_right_about_the_number_that_it_divides_by(graph: Any, compiled: Any) -> None:
    x = torch.full((8,), 1e10) if "zeros" in str(compiled.__code__.co_names) else torch.full((8,), 0.3)
    (found,) = wrong(graph, compiled, x)
    assert found["kind"] == "values" and found["eager_error"] == 0


def test_a_step_that_compiled_code_takes_at_the_same_number_is_not_wrong() -> None:
    tenth = torch.full((4,), 0.1)  # equal to 0.1 in eager, and more than it in double precision
    assert wrong(lambda x: ((x > 0.1).float(),), lambda x: ((x > 0.1).float(),), tenth) == []
    (found,) = wrong(lambda x: ((x > 0.1).float(),), lambda x: ((x >= 0.1).float(),), tenth)
    assert found["eager_error"] == 0


@pytest.mark.parametrize(
    ("graph", "tensors", "single"),
    [
        (lambda x: x % 0.1, (torch.ones(2),), True),
        (lambda x: x % 0.1, (torch.ones(2), torch.ones(2, dtype=torch.float64)), False),
        (lambda x: x.double() % 0.1, (torch.ones(2),), False),
        (lambda x: x.to(torch.float64) % 0.1, (torch.ones(2),), False),
    ],
)
def test_numbers_stay_as_they_are_where_something_is_of_double_precision(
    graph: Any, tensors: Any, single: bool
) -> None:
    assert scalars.is_single(torch, torch.fx.symbolic_trace(graph), tensors) is single


def test_only_what_is_exact_of_a_number_takes_it_rounded() -> None:
    near = 0.10000000149011612
    assert scalars.rounded("remainder", True, (1, 0.1), {}) == ((1, near), {})
    assert scalars.rounded("gt", False, (0.1,), {}) == ((near,), {})
    assert scalars.rounded("clamp", True, (), {"min": 0.1, "max": 3}) == ((), {"min": near, "max": 3})
    assert scalars.rounded("mul", False, (0.1,), {}) == ((0.1,), {})
    assert scalars.rounded("upsample_nearest1d", True, (0.1,), {}) == ((0.1,), {})
