"""In inference mode operations that are made of others come whole; what asks eager how sure it is of itself takes them apart."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from compared import judged, torch

from triage.agent import boot

boot.load_agent()
modes = importlib.import_module(f"{boot.PACKAGE}.compare.modes")


def refined(estimate: Any, target: Any) -> tuple[Any, ...]:
    view = torch.nn.functional.dropout(estimate, 0.1, training=False)
    view.add_(0.5 * (target - view))
    return (view * 2,)


def refined_beside_it(estimate: Any, target: Any) -> tuple[Any, ...]:
    view = estimate + 0.5 * (target - estimate)
    return (view * 2,)


@pytest.mark.parametrize("mode", [lambda: modes.surrounded(torch, 0x41), lambda: modes.nudged(torch, False)])
def test_what_is_written_into_the_result_of_a_dropout_that_is_off_reaches_its_argument(mode: Callable[[], Any]) -> None:
    with torch.inference_mode():
        estimate = torch.ones(3)
        with mode():
            refined(estimate, torch.zeros(3))
    assert estimate.tolist() == pytest.approx([0.5, 0.5, 0.5], abs=1e-4)


def test_a_lost_write_is_a_wrong_result_and_no_rounding() -> None:
    with torch.inference_mode():
        _, wrong = judged(refined_beside_it, refined, torch.ones(3), torch.zeros(3), gradients=False)
    assert [facts["item"] for facts in wrong] == ["estimate after the call"]


def padded_and_rounded_down(x: Any) -> tuple[Any, ...]:
    return (torch.floor(torch.nn.functional.pad(x, (1, 1))),)


def one_too_few(x: Any) -> tuple[Any, ...]:
    return (padded_and_rounded_down(x)[0] - torch.eye(8)[3],)


@pytest.mark.parametrize("inference", [False, True])
def test_what_copies_is_exact_in_inference_mode_too(inference: bool) -> None:
    """A step that every nudge of its input moves would explain any wrong number behind it."""
    with torch.inference_mode(inference):
        _, wrong = judged(one_too_few, padded_and_rounded_down, torch.arange(6.0), gradients=False)
    assert [(facts["item"], facts["spread"]) for facts in wrong] == [("output 0", 0.0)]
