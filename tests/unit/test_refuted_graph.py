"""A graph that the script itself refutes is not reduced any further."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from triage.reduce.interface import NoReduction
from triage.session.clock import Clock
from triage.stories.reproduce import RefutedError, StandingEngine, WhileItStands


class Engine:
    """Ends without a reduction; while it works the script may tell otherwise than its graph."""

    name = subject = "engine"

    def __init__(self, found: Any, refutes: bool, interrupted: bool = False) -> None:
        self.found, self.refutes = found, refutes
        self.ended = replace(NoReduction("no"), interrupted=interrupted)

    def reduce(self, problem: Any, resources: Any) -> NoReduction:
        self.found.walk.refuted = self.refutes
        return self.ended


@pytest.fixture
def found() -> Any:
    return SimpleNamespace(walk=SimpleNamespace(refuted=False), session=SimpleNamespace(clock=Clock(60.0)))


def test_no_time_is_left_for_it(found: Any) -> None:
    budget = WhileItStands(found)
    assert 0 < budget.left() <= 60.0 and not budget.spent()
    found.walk.refuted = True
    assert budget.left() == 0.0 and budget.spent()


def test_what_is_left_of_it_by_then_is_nobodys_reproducer(found: Any) -> None:
    assert StandingEngine(Engine(found, refutes=False), found).reduce(None, None).reason == "no"
    with pytest.raises(RefutedError):
        StandingEngine(Engine(found, refutes=True), found).reduce(None, None)


def test_an_interrupt_is_not_lost_by_it(found: Any) -> None:
    assert StandingEngine(Engine(found, refutes=True, interrupted=True), found).reduce(None, None).interrupted
