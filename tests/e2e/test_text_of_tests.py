"""Failing tests become scripts that need no test runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from reduced_text import PYTHON, reduced

from triage.reduce.printing.printer import code_lines
from triage.session.session import neutral_store
from triage.trial.runner import ForkServerRunner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def runner() -> Iterator[ForkServerRunner]:
    made = ForkServerRunner(PYTHON, jobs=2, neutral=neutral_store())
    yield made
    made.close()


TEST = """
import pytest
import torch


class Rows:
    def __init__(self, rows):
        self.rows = rows


@pytest.fixture
def rows():
    return Rows([torch.ones(4, 3), torch.ones(2, 3)])


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_mean(rows, scale):
    @torch.compile(fullgraph=True)
    def mean(given):
        total = torch.zeros(3)
        for row in given.rows:
            total = total + row.mean(0) * scale * memoryview(b"ab")[0]
        return total

    assert mean(rows).shape == (3,)
"""


def test_a_function_within_a_test_needs_no_test_runner(tmp_path: Path, runner: ForkServerRunner) -> None:
    place = tmp_path / "program"
    place.mkdir()
    (place / "test_mean.py").write_text(TEST)
    command = ("pytest", "-q", "-p", "no:cacheprovider", "test_mean.py")
    ended = reduced(place, tmp_path / "out", runner, command=command)
    assert ended.imports <= {"os", "torch"}
    assert code_lines(ended.source) < 10


COUNTS = """
import pytest
import torch


def metered(limit):
    seen = {"steps": 0}

    class Meter:
        def touch(self, x):
            seen["steps"] += 1
            return x.clamp(max=limit)

    return lambda x: Meter().touch(x).sin(), lambda: seen["steps"]


@pytest.fixture
def batches():
    return [torch.randn(3) for _ in range(2)]


class TestMeter:
    def count(self, step, batches):
        for batch in batches:
            step(batch)

    @pytest.mark.parametrize("limit", [0.5])
    def test_counts(self, batches, limit):
        plain, read = metered(limit)
        self.count(plain, batches)
        fast, read_fast = metered(limit)
        self.count(torch.compile(fast), batches)
        assert read() == read_fast()
"""


def test_where_only_the_test_itself_shows_it_the_test_is_called(tmp_path: Path, runner: ForkServerRunner) -> None:
    """What the calls return is right: the count is lost, and nothing in the file calls the test."""
    place = tmp_path / "program"
    place.mkdir()
    (place / "test_counts.py").write_text(COUNTS)
    command = ("pytest", "-q", "-p", "no:cacheprovider", "test_counts.py")
    ended = reduced(place, tmp_path / "out", runner, command=command)
    assert ended.imports <= {"os", "torch"}
    assert code_lines(ended.source) < 25
