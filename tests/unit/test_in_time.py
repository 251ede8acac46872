"""A search that the budget cut short makes the report a partial one; one that its own limit cut short does not."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from triage.reduce.interface import NoReduction, Reduction, SafeEngine
from triage.session.settings import Settings
from triage.stories.findings import Findings
from triage.trial.interface import Resources


class Engine:
    name, subject = "native", "the program's text"

    def __init__(self, *, complete: bool | None) -> None:
        self._complete = complete

    def reduce(self, *_: Any) -> Reduction | NoReduction:
        if self._complete is None:
            return NoReduction("no text fails the same way")
        return Reduction("f()\n", "native", "source", None, 3, 1.0, True, self._complete)


@pytest.mark.parametrize(
    ("complete", "left", "late"),
    [
        (False, -1.0, True),
        (False, 8.0, True),  # kept for the last steps of a search
        (False, 60.0, False),
        (False, math.inf, False),
        (True, -1.0, False),
        (None, -1.0, True),
        (None, 60.0, False),
    ],
)
def test_whether_the_budget_ended_a_search(complete: bool | None, left: float, late: bool) -> None:
    told: list[str] = []
    budget = SimpleNamespace(left=lambda: left)
    engine = SafeEngine(Engine(complete=complete), lambda _: None, lambda: told.append("late"))
    found = engine.reduce(None, Resources(None, None, budget, None))
    assert isinstance(found, NoReduction) is (complete is None)
    assert bool(told) is late


def test_what_the_budget_shortened_is_said_once() -> None:
    found = Findings(SimpleNamespace(settings=Settings(budget=75)), None, (), None)
    assert found.incomplete is None
    found.shorten("the reproducer was as small as it can be")
    found.shorten("all ways round were tried")
    assert found.incomplete == "the budget of 75 s ended before the reproducer was as small as it can be"
