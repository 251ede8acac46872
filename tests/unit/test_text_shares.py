"""No pass of a text's reduction eats the time of what comes after it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from text_helpers import TextOracle, TextRunner

from triage.judge.asking import StopReductionError
from triage.reduce.text import search
from triage.reduce.text.code.script import Script
from triage.trial.driver import Driver
from triage.trial.interface import Resources

CALLS = "\n".join(f"    total = total + g{n}(h{n}(x) * k{n}(x), m{n}(x) - p{n}(x))" for n in range(6))
TEXT = f"def f(x):\n    total = x\n{CALLS}\n    return total\n\nrun(f)\n"
SECONDS = 60.0  # of which each query takes one


class Clock:
    now = 0.0

    def left(self) -> float:
        return max(0.0, SECONDS - self.now)

    def spent(self) -> bool:
        return self.left() == 0


class SlowRunner(TextRunner):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def run(self, *args, **options):
        self._clock.now += 1.0
        return super().run(*args, **options)


def searched(monkeypatch: pytest.MonkeyPatch, fails: Callable[[str], bool], text: str) -> tuple[str, list[str]]:
    """What a search of so many seconds ends in, and the passes as they began."""
    clock = Clock()
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: clock.now))
    resources = Resources(SlowRunner(clock), TextOracle(fails), clock, lambda kind, **facts: None)
    driver: Driver[Script] = Driver(resources, lambda script: script.text)
    begun: list[str] = []
    monkeypatch.setattr(driver, "begin", begun.append)
    found = search.Search(driver, 1, clock)
    with contextlib.suppress(StopReductionError):
        found.reduce(Script(text))
    return found.current.text, begun


def test_statements_are_asked_for_again_where_their_time_ended(monkeypatch: pytest.MonkeyPatch):
    needed = [f"a{n} = f(a{n - 1})" for n in range(1, 21)]
    _, begun = searched(
        monkeypatch, lambda text: all(line in text for line in needed), "\n".join(["g(1, 2)", "a0 = 1", *needed])
    )
    second = begun[begun.index("expressions") :]
    assert "statements" in second and "unwrap" not in second[: second.index("statements")]


def test_expressions_leave_time_for_a_second_round(monkeypatch: pytest.MonkeyPatch):
    _, begun = searched(monkeypatch, lambda text: all(f"g{n}(h{n}(" in text for n in range(6)), TEXT)
    assert "inline" in begun[begun.index("expressions") :]
