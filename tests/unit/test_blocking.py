"""A script whose kernel fails is run again so that the call which launches it raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import Machine, error, walk_of

from triage.locate.blocking import VARIABLE, to_blocking_launches
from triage.locate.walk import Walk
from triage.model.outcome import RaisedException

ASSERTED = "CUDA error: device-side assert triggered\nAssertion `index out of bounds: 0 <= tmp4 < {}` failed."
LATE = replace(error(message=ASSERTED.format(10), phase="uncaught"), type="torch.AcceleratorError")
WHERE_IT_IS = replace(LATE, phase="call")
LAUNCHED = replace(
    error(message="Triton Error [CUDA]: device-side assert triggered", phase="call"), type="RuntimeError"
)


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Walk]:
    monkeypatch.delenv(VARIABLE, raising=False)
    return walk_of(tmp_path)


def test_it_goes_on_with_runs_in_which_each_launch_waits(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": [LATE, *[WHERE_IT_IS] * 9]})
    found = walk(machine)
    found.first()
    assert f"{VARIABLE}=1" in to_blocking_launches(found)
    assert found.start.outcome.exception == WHERE_IT_IS and found.stop_after is not None and len(found.seen) == 1
    found.settle()
    assert [request.extra_env.get(VARIABLE) for request in machine.requests] == [
        None,
        *["1"] * (len(machine.requests) - 1),
    ]
    assert len(machine.requests) > 2


@pytest.mark.parametrize("other", [None, error(), replace(LATE, message="CUDA error: misaligned address")])
def test_where_that_hides_the_failure_the_line_is_doubted(
    walk: Callable[..., Walk], other: RaisedException | None
) -> None:
    machine = Machine({"inductor": [LATE, other, *[LATE] * 9]})
    found = walk(machine)
    first = found.first()
    assert "need not be the one" in to_blocking_launches(found)
    assert found.start is first and not found.env


@pytest.mark.parametrize(
    ("raised", "value"),
    [(None, ""), (error(), ""), (replace(LATE, message="CUDA error: invalid argument"), ""), (LATE, "1")],
)
def test_nothing_is_run_again_where_it_tells_no_more(
    walk: Callable[..., Walk], monkeypatch: pytest.MonkeyPatch, raised: RaisedException | None, value: str
) -> None:
    monkeypatch.setenv(VARIABLE, value or "0")
    machine = Machine({"inductor": [raised] * 9})
    found = walk(machine)
    found.first()
    asked = len(machine.requests)
    assert to_blocking_launches(found) == "" and len(machine.requests) == asked
