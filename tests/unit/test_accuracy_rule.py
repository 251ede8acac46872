"""When is a compiled value wrong? The rule over numbers, and over tensors where torch is at hand."""

import importlib

import pytest

from triage.agent import boot

boot.load_agent()
rule = importlib.import_module(f"{boot.PACKAGE}.compare.rule")
PLAIN = {"dtype": "float32", "shape": (2, 3), "stride": (3, 1), "requires_grad": False, "grad_fn": False, "aliases": ()}


def test_coarser_dtypes_are_given_more_room() -> None:
    rooms = [rule.tolerance(name) for name in ("float64", "float32", "float16", "bfloat16")]
    assert rooms == sorted(rooms) and len(set(rooms)) == 4
    assert rule.tolerance("complex64") == rule.tolerance("float32")
    assert rule.tolerance("float8_e4m3fn") == rule.tolerance("bfloat16")


def test_a_rough_nudge_is_rougher_but_never_swamps_half_precision() -> None:
    assert rule.nudge("float32", True) > rule.nudge("float32", False) > 1e-7
    assert rule.nudge("bfloat16", True) <= 0.016


def test_what_eager_cannot_explain_is_not_allowed() -> None:
    allowed = rule.allowed(1e-7, 1e-6, 1e-6, 1e-6, reference=True, measured=True)
    assert 1e-6 < allowed < 1e-3
    assert rule.allowed(0.5, 0.0, 0.1, 0.0, True, True) > 0.5  # eager is off itself
    assert rule.allowed(0.0, 0.5, 0.1, 0.0, True, True) > 0.5  # eager is not sure
    assert rule.allowed(1e-7, 1e-6, 1e-6, 0.0, False, True) > rule.allowed(1e-7, 1e-6, 1e-6, 0.0, True, True)
    assert rule.allowed(1e-7, 1e-6, 1e-6, 0.0, True, False) > rule.allowed(1e-7, 1e-6, 1e-6, 0.0, True, True)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, None),
        ({"dtype": "float64"}, "dtype"),
        ({"shape": (3, 2)}, "shape"),
        ({"requires_grad": True}, "requires_grad"),
        ({"stride": (1, 2)}, "strides"),
        ({"aliases": ("x",)}, "aliasing"),
    ],
)
def test_metadata(change: dict[str, object], kind: str | None) -> None:
    found = rule.metadata_difference(PLAIN, {**PLAIN, **change})
    assert (found[0] if found else None) == kind


def test_an_output_that_a_backward_pass_ends_at() -> None:
    eager = {**PLAIN, "requires_grad": True, "grad_fn": True}
    leaf = {**eager, "grad_fn": False}
    assert rule.metadata_difference(eager, leaf) == (
        "requires_grad",
        "requires_grad is True without a grad_fn compiled, True in eager",
    )
    assert rule.metadata_difference(leaf, eager) is None  # a parameter that is returned as it is
    assert [rule.cut_off(eager, other) for other in (eager, leaf, PLAIN)] == [False, True, True]


@pytest.mark.parametrize(
    ("shape", "eager", "compiled", "differs"),
    [
        ((1, 3), (7, 1), (3, 1), False),  # a dimension of one element has no step
        ((2, 3), (0, 1), (3, 1), False),  # expanded: compiled code may make it dense
        ((2, 3), (8, 1), (3, 1), False),  # a slice of something larger
        ((0, 3), (3, 1), (1, 0), False),
        ((2, 3), (1, 2), (3, 1), True),
    ],
)
def test_layouts(shape: tuple[int, ...], eager: tuple[int, ...], compiled: tuple[int, ...], differs: bool) -> None:
    assert rule.layout_differs(shape, eager, compiled) is differs
