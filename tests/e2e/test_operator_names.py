"""The operator that is named for a call is one that torch really runs for it."""

from __future__ import annotations

from typing import Any

import pytest
from reduce_cases import meta, op

from triage.culprit.called_as import _RENAMED
from triage.culprit.operation import operator_name

pytestmark = [pytest.mark.e2e, pytest.mark.quick]
torch = pytest.importorskip("torch")

IMAGE, LINE = (1, 2, 6, 6), (1, 2, 6)
# Arguments of the functions of the table, tensors as their shapes.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "adaptive_max_pool1d_with_indices": (LINE, 2),
    "adaptive_max_pool2d_with_indices": (IMAGE, 2),
    "adaptive_max_pool3d_with_indices": ((1, 2, 6, 6, 6), 2),
    "affine_grid": ((1, 2, 3), [1, 1, 4, 4], False),
    "cross_entropy": ((3, 4), (3, 4)),
    "dropout1d": (LINE,),
    "dropout2d": (IMAGE,),
    "dropout3d": ((1, 2, 6, 6, 6),),
    "fold": ((1, 8, 9), (4, 4), 2),
    "fractional_max_pool2d_with_indices": (IMAGE, 2, 3),
    "fractional_max_pool3d_with_indices": ((1, 2, 6, 6, 6), 2, 3),
    "logsigmoid": (LINE,),
    "unfold": (IMAGE, 2),
}
RESIZED = [
    (LINE, {"scale_factor": 2, "mode": "linear"}),
    (LINE, {"scale_factor": 2}),
    (IMAGE, {"scale_factor": 2, "mode": "nearest-exact"}),
    (IMAGE, {"size": 3, "mode": "bicubic"}),
    (IMAGE, {"size": 3, "mode": "bilinear", "antialias": True}),
    (IMAGE, {"size": 3, "mode": "area"}),
    ((1, 2, 4, 4, 4), {"size": 3, "mode": "trilinear"}),
]


def run(call: Any) -> tuple[Any, set[str]]:
    """The result, and the operators that ran, as the profiler names them."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        result = call()
    return result, {event.name.replace("::", ".") for event in seen.events()}


def given(value: Any) -> Any:
    return torch.rand(value) if isinstance(value, tuple) and value in SHAPES else value


SHAPES = {(3, 4), (1, 8, 9), (1, 2, 3), IMAGE, LINE, (1, 2, 6, 6, 6), (1, 2, 4, 4, 4)}


@pytest.mark.parametrize("target", [name for name in _RENAMED if name.rpartition(".")[2] in ARGUMENTS])
def test_a_function_of_another_name(target: str) -> None:
    name = target.rpartition(".")[2]
    _, ran = run(lambda: getattr(torch.nn.functional, name)(*map(given, ARGUMENTS[name])))
    assert operator_name(op("a", target)) in ran


@pytest.mark.parametrize(("shape", "told"), RESIZED)
def test_an_interpolation(shape: tuple[int, ...], told: dict[str, Any]) -> None:
    result, ran = run(lambda: torch.nn.functional.interpolate(torch.rand(shape), **told))
    node = op("a", "torch.nn.functional.interpolate", "%x", kwargs=told, out=meta(*result.shape))
    assert operator_name(node) in ran


def test_a_sampled_grid() -> None:
    image, grid = torch.rand(IMAGE), torch.rand(1, 3, 3, 2)
    result, ran = run(lambda: torch.nn.functional.grid_sample(image, grid, align_corners=False))
    assert operator_name(op("a", "torch.nn.functional.grid_sample", "%x", "%g", out=meta(*result.shape))) in ran


@pytest.mark.parametrize("name", ["float", "double", "half", "long", "bool", "unique"])
def test_a_method_of_another_name(name: str) -> None:
    ones = torch.ones(3, dtype=torch.int32)
    _, ran = run(getattr(ones, name))
    assert operator_name(op("a", name, "%x", kind="call_method")) in ran
