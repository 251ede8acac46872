"""A dropout that is off gives its input back: what asks eager how sure it is of itself leaves it that tensor."""

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
def test_what_is_written_into_the_result_reaches_the_argument(mode: Callable[[], Any]) -> None:
    with torch.inference_mode():
        estimate = torch.ones(3)
        with mode():
            refined(estimate, torch.zeros(3))
    assert estimate.tolist() == pytest.approx([0.5, 0.5, 0.5], abs=1e-4)


def test_a_lost_write_is_a_wrong_result_and_no_rounding() -> None:
    with torch.inference_mode():
        _, wrong = judged(refined_beside_it, refined, torch.ones(3), torch.zeros(3), gradients=False)
    assert [facts["item"] for facts in wrong] == ["estimate after the call"]
