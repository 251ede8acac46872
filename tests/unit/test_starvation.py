"""What a process waits for a processor is no time of its own; what it sleeps, or waits for a lock, is."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.agent.warm.children import Child, Children
from triage.probe.starvation import Standstill, Starved


class Proc:
    """`/proc` as far as it is read, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, 100.0
        self.starved = Starved(lambda: self.now, folder)
        self.standstill = Standstill(lambda: self.now, folder)

    def thread(self, pid: int, tid: int, waited: float, children: str = "", ran: float = 7.0, state: str = "S") -> None:
        place = self.folder / str(pid) / "task" / str(tid)
        place.mkdir(parents=True, exist_ok=True)
        (place / "schedstat").write_text(f"{int(ran * 1e9)} {int(waited * 1e9)} 12\n")
        (place / "children").write_text(children)
        (place / "stat").write_text(f"{tid} (a (b) c) {state} 1")

    def after(self, seconds: float) -> float:
        self.now += seconds
        return self.starved.look(1)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_one_that_runs_or_sleeps_is_not_starved(proc: Proc) -> None:
    proc.thread(1, 1, 0.0)
    assert proc.after(20.0) == proc.after(20.0) == 0.0


def test_of_threads_that_wait_side_by_side_the_longest_counts(proc: Proc) -> None:
    for waited in (0.4, 0.8):
        proc.thread(1, 1, waited)
        proc.thread(1, 2, waited / 2)
        proc.after(1.0)
    assert proc.starved.seconds == pytest.approx(0.8)


def test_what_it_has_started_counts_while_it_waits_for_that(proc: Proc) -> None:
    proc.thread(1, 1, 0.5, children="2 ")
    proc.thread(2, 2, 0.0, children="3 ")
    proc.thread(3, 3, 0.0)
    proc.after(1.0)
    proc.thread(3, 3, 0.75)
    assert proc.after(1.0) == pytest.approx(1.25)


def test_no_more_than_has_passed(proc: Proc) -> None:
    proc.thread(1, 1, 30.0)
    assert proc.after(2.0) == 2.0


def test_a_system_that_does_not_tell_starves_nobody(tmp_path: Path) -> None:
    assert Proc(tmp_path).after(5.0) == 0.0


def test_a_forked_candidate_is_given_more_time() -> None:
    children = Children(())
    child = Child({"id": 7, "timeout": 10.0, "root": "x"}, 1, (), 0)
    children.running[1], before = child, child.deadline
    children.extend(8, 5.0)
    children.extend(7, 2.5)
    assert child.deadline == before + 2.5


def test_what_only_looks_whether_it_may_go_on_stands_still(proc: Proc) -> None:
    still = [0.0]
    for second in range(10):
        proc.thread(1, 1, 0.0, children="2", ran=0.01 * second)  # polls
        proc.thread(2, 2, 0.0, ran=float(min(second, 3)))  # computes for three seconds
        proc.now += 1.0
        still.append(proc.standstill.look(1))
    assert still[4] == 0.0 and still[-1] == pytest.approx(6.0)


def test_who_watches_it_is_not_looked_at(proc: Proc) -> None:
    for second in range(10):
        proc.thread(1, 1, 0.0, children="2", ran=float(second))
        proc.thread(2, 2, 0.0)
        proc.now += 1.0
        proc.standstill.look(1, itself=False)
    assert proc.standstill.look(1, itself=False) == pytest.approx(9.0)


@pytest.mark.parametrize(("waited", "state"), [(1.0, "R"), (0.0, "D")])
def test_what_waits_for_a_processor_or_a_disk_does_not(proc: Proc, waited: float, state: str) -> None:
    for second in range(10):
        proc.thread(1, 1, waited * second, state=state)
        proc.now += 1.0
        assert proc.standstill.look(1) < 1.5


def test_nothing_stands_still_where_the_system_does_not_tell(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    proc.now += 9.0
    assert proc.standstill.look(1) == 0.0


@pytest.mark.parametrize(("file", "still"), [("/dev/nvidia0", 0.0), ("/dev/null", 9.0)])
def test_what_sleeps_while_a_gpu_may_work_for_it_does_not(proc: Proc, file: str, still: float) -> None:
    (proc.folder / "1" / "fd").mkdir(parents=True)
    (proc.folder / "1" / "fd" / "9").symlink_to(file)
    for _ in range(10):
        proc.thread(1, 1, 0.0)
        proc.now += 1.0
        proc.standstill.look(1)
    assert proc.standstill.look(1) == pytest.approx(still)
