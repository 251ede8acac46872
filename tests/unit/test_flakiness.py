"""What a report says of a failure that comes and goes."""

from __future__ import annotations

import pytest

from triage.locate.conclude import Conclusion
from triage.model.stage import Stage, Symptom
from triage.stories.flakiness import flaky_notes, wilson


def flaky(failures: int, runs: int) -> Conclusion:
    return Conclusion(Stage.INDUCTOR, Symptom.NONDETERMINISTIC, runs=runs, failures=failures)


def test_the_interval_of_a_rate() -> None:
    low, high = wilson(3, 10)  # 0.108 and 0.603: Newcombe, Statistics in Medicine 17 (1998), method 3
    assert low == pytest.approx(0.1078, abs=1e-3)
    assert high == pytest.approx(0.6032, abs=1e-3)
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0


def test_the_rate_comes_with_how_sure_it_is() -> None:
    (note,) = flaky_notes(flaky(3, 10), {})
    assert "3 of 10" in note and "between 11 % and 60 %" in note


@pytest.mark.parametrize(
    ("seeded", "said"),
    [
        ({0: (3, 3), 1: (3, 0), 2: (3, 0)}, "set to 0 it fails every time, with 1 or 2 never (9 runs)"),
        ({0: (3, 3), 1: (3, 1)}, "do not decide it (6 runs)"),
        ({0: (3, 0), 1: (3, 0)}, "it never fails"),
    ],
)
def test_whether_random_numbers_decide(seeded: dict[int, tuple[int, int]], said: str) -> None:
    assert said in flaky_notes(flaky(2, 6), seeded)[1]


def test_a_steady_failure_needs_no_such_words() -> None:
    steady = Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION, runs=3, failures=3)
    assert flaky_notes(steady, {}) == []
