"""When the first run of a script is waited for no longer: it takes many times what the uncompiled one did, in silence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from triage.locate.lateness import Lateness

LIMIT = 300.0


@pytest.fixture
def late_at(tmp_path: Path) -> Callable[..., float | None]:
    """The second at which a run is late; `says` is when it writes something, `passed` what the uncompiled one took."""

    def seen(passed: float | None, says: Callable[[int], bool] = lambda second: False) -> float | None:
        log, events = tmp_path / "torch.log", tmp_path / "channel"
        events.mkdir(exist_ok=True)
        log.write_text("")
        now = [0.0]
        late = Lateness(LIMIT, lambda: passed, lambda: now[0])
        for second in range(int(LIMIT)):
            now[0] = float(second)
            if says(second):
                with log.open("a") as file:
                    file.write("a graph\n")
                (events / "events-1.jsonl").write_text("{}\n" * second)
            if late((log, tmp_path / "not-there", events)):
                return now[0]
        return None

    return seen


def test_a_silent_run_is_late_at_a_part_of_its_limit(late_at: Callable[..., float | None]) -> None:
    assert late_at(5.0) == 120.0


def test_it_is_left_many_times_what_the_uncompiled_one_took(late_at: Callable[..., float | None]) -> None:
    assert late_at(20.0) == 200.0


def test_nothing_is_late_before_the_uncompiled_run_has_passed(late_at: Callable[..., float | None]) -> None:
    assert late_at(None) is None


def test_a_slow_compile_that_goes_on_is_left_its_whole_limit(late_at: Callable[..., float | None]) -> None:
    assert late_at(5.0, lambda second: second % 30 == 0) is None


def test_silence_counts_from_what_was_heard_last(late_at: Callable[..., float | None]) -> None:
    assert late_at(5.0, lambda second: second % 10 == 0 and second < 145) == 180.0
