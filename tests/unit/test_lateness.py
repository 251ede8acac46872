"""When the first run of a script is waited for no longer: it takes many times what the uncompiled one did, in silence."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.locate.lateness import Lateness, _goes_on
from triage.probe.launch import LATE
from triage.probe.starvation import STILL, StandsStill, Standstill, Starved

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
            if late((log, tmp_path / "not-there", events), 1):
                return now[0]
        return None

    return seen


def test_a_silent_run_is_late_at_a_part_of_its_limit(late_at: Callable[..., float | None]) -> None:
    assert late_at(5.0) == 120.0


class Standing(Standstill):
    """Whoever is looked at has stood still for so long."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__()
        self.seconds = seconds

    def look(self, root: int | None, *, itself: bool = True) -> float:
        assert not itself  # that is the process that watches
        return self.seconds()


class Waiting(Starved):
    """Whoever is looked at has waited for a processor for so long."""

    def __init__(self, waited: Callable[[], float]) -> None:
        super().__init__()
        self.waited = waited

    def look(self, root: int | None) -> float:
        return self.waited()


def test_on_a_busy_machine_it_is_waited_for_longer(tmp_path: Path) -> None:
    now = [0.0]
    late = Lateness(LIMIT, lambda: 5.0, lambda: now[0], starved=Waiting(lambda: now[0] / 2))
    while not late((tmp_path / "torch.log",), 1):
        now[0] += 1.0
    assert now == [240.0]


@pytest.mark.parametrize(
    ("uncompiled", "since", "ends"), [(2.0, 0.0, 40), (30.0, 0.0, 60), (2.0, 30.0, 70), (2.0, 100.0, 120)]
)
def test_one_that_stands_still_is_late_as_soon_as_it_has_been_silent(
    tmp_path: Path, uncompiled: float, since: float, ends: int
) -> None:
    now = [0.0]
    late = Lateness(LIMIT, lambda: uncompiled, lambda: now[0], standstill=Standing(lambda: max(0.0, now[0] - since)))
    while not (why := late((tmp_path / "torch.log",), 1)):
        now[0] += 1.0
    assert (now[0], why) == (ends, STILL if ends < 120 else LATE)


def test_a_later_run_that_stands_still_is_ended_sooner() -> None:
    now = [0.0]
    late = StandsStill(5.0, Standing(lambda: now[0] - 7.0))
    while not (why := late((), 1)):
        now[0] += 1.0
    assert (now[0], why) == (12.0, STILL)


def test_it_is_left_many_times_what_the_uncompiled_one_took(late_at: Callable[..., float | None]) -> None:
    assert late_at(20.0) == 200.0


def test_nothing_is_late_before_the_uncompiled_run_has_passed(late_at: Callable[..., float | None]) -> None:
    assert late_at(None) is None


def test_a_slow_compile_that_goes_on_is_left_its_whole_limit(late_at: Callable[..., float | None]) -> None:
    assert late_at(5.0, lambda second: second % 30 == 0) is None


def test_once_it_takes_many_times_as_long_what_comes_next_can_be_made_ready(tmp_path: Path) -> None:
    now, told = [0.0], []
    late = Lateness(LIMIT, lambda: 9.5, lambda: now[0], suspected=lambda: told.append(now[0]))
    for second in range(int(LIMIT)):
        now[0] = float(second)
        if late((tmp_path / "torch.log",), 1):
            break
    assert (told, now) == ([95.0], [120.0])


def test_silence_counts_from_what_was_heard_last(late_at: Callable[..., float | None]) -> None:
    assert late_at(5.0, lambda second: second % 10 == 0 and second < 145) == 180.0


def at_standstill(folder: Path, line: Callable[[int], str], breadcrumb: str, every: int = 5) -> float | None:
    """The second at which a run is late that prints this line now and then, and whose agent said this last."""
    out, events = folder / "out.log", folder / "channel"
    events.mkdir()
    (events / "events-1.jsonl").write_text(
        '{"e": "start"}\n' + json.dumps({"text": breadcrumb, "e": "breadcrumb"}) + "\n"
    )
    out.write_text("")
    now = [0.0]
    late = Lateness(LIMIT, lambda: 5.0, lambda: now[0])
    for second in range(int(LIMIT)):
        now[0] = float(second)
        if second % every == 0:
            with out.open("a") as file:
                file.write(line(second) + "\n")
        if late((out, folder / "err.log", folder / "torch.log", events), 1):
            return now[0]
    return None


BEATS: dict[str, Callable[[int], str]] = {
    "seconds": lambda second: f"[{second}s] step 0",
    "clock": lambda second: f"2026-11-26 01:{second // 60:02}:{second % 60:02},257 INFO alive, step 0",
    "the same": lambda second: "waiting",
}


@pytest.mark.parametrize("line", BEATS)
def test_what_repeats_by_the_clock_while_something_compiles_is_no_progress(tmp_path: Path, line: str) -> None:
    late = at_standstill(tmp_path, BEATS[line], "compile graph 0/0")
    assert late is not None and late <= 130.0


@pytest.mark.parametrize("line", ["seconds", "clock", "fraction"])
def test_so_is_what_names_each_second(tmp_path: Path, line: str) -> None:
    beats = {**BEATS, "fraction": lambda second: f"alive after {second + 0.13:.2f}"}
    late = at_standstill(tmp_path, beats[line], "compile graph 0/0", every=1)
    assert late is not None and late <= 130.0


def test_a_graph_that_failed_to_compile_is_compiled_no_longer(tmp_path: Path) -> None:
    told = tmp_path / "events-1.jsonl"
    told.write_text('{"text": "compile graph 0/0", "e": "breadcrumb"}\n{"graph": "0/0", "e": "other"}\n')
    assert _goes_on(tmp_path)
    with told.open("a") as file:
        file.write('{"graph": "0/0", "e": "graph_failed"}\n')
    assert not _goes_on(tmp_path)


@pytest.mark.parametrize(
    ("line", "breadcrumb", "every"),
    [
        (BEATS["seconds"], "graph 0/0 ran", 5),
        (BEATS["the same"], "graph 0/0 compiled", 5),
        (BEATS["the same"], "inductor compiles backward graph 0/0", 5),
        (lambda second: f"[{second}s] pass {second // 5} of 60", "compile graph 0/0", 5),
        (lambda second: f"pass {second // 5}", "compile graph 0/0", 5),
        (lambda second: f"node {second}", "inductor compiles forward graph 0/0", 1),
        (lambda second: f"[{second}s] node {second}", "inductor compiles forward graph 0/0", 1),
        (lambda second: f"{second // 3}s", "inductor compiles forward graph 0/0", 3),
        (lambda second: f"step {second // 10} loss {1 / (second + 1):.4f}", "run graph 0/0", 10),
    ],
)
def test_what_says_something_else_each_time_is(
    tmp_path: Path, line: Callable[[int], str], breadcrumb: str, every: int
) -> None:
    assert at_standstill(tmp_path, line, breadcrumb, every) is None
