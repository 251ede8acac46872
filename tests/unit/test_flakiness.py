"""What a report says of a failure that comes and goes."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from triage.locate.conclude import Conclusion
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe
from triage.stories.flakiness import flaky_notes, order_notes, other_way_notes, passes_at_first, wilson, written_note


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


def runs(*failed: bool) -> list[Probe]:
    kinds = [OutcomeKind.WRONG_RESULT if each else OutcomeKind.OK for each in failed]
    return [Probe("p", None, Outcome(kind), None, AgentNotes(), Path("none")) for kind in kinds]


@pytest.mark.parametrize(
    ("uncompiled", "inductor", "order"),
    [
        ((False, True), (False, True, True), True),
        ((True,), (False, True, True), True),
        ((False, True), (False, True, False), False),  # it comes and goes
        ((False,), (False, True, True), False),  # never without a compiler
        ((True,), (True,), False),
        ((False, False, False, True), (False, True, True), False),  # the third was no first run
    ],
)
def test_an_effect_of_order_is_no_chance(uncompiled: tuple[bool, ...], inductor: tuple[bool, ...], order: bool) -> None:
    seen = {"uncompiled": runs(*uncompiled), "inductor": runs(*inductor)}
    assert passes_at_first(seen, {0: (2, 2)}, {}) is order
    assert not passes_at_first(seen, {0: (2, 2), 1: (2, 0)}, {})  # these were the last
    assert not passes_at_first(seen, {}, {"eager": runs(False)})


@pytest.mark.parametrize(
    ("fails", "passes", "said"),
    [
        ((1, 2), (0,), "The one run with a compiler that passes had"),
        ((1,), (0, 0), "Each of the 2 runs"),
        ((1,), (0, 1), ""),
        ((1, 0), (0,), ""),
        ((1,), (), ""),
    ],
)
def test_runs_that_pass_another_way_are_told_as_that(
    fails: tuple[int, ...], passes: tuple[int, ...], said: str
) -> None:
    def ran(failed: bool, graphs: int) -> Probe:
        return replace(runs(failed)[0], notes=AgentNotes(graphs=graphs))

    seen = {"uncompiled": runs(False), "inductor": [ran(True, graphs) for graphs in fails]}
    notes = other_way_notes(flaky(2, 6), seen, {"eager": [ran(False, graphs) for graphs in passes]})
    assert bool(notes) == bool(said) and said in " ".join(notes)
    assert other_way_notes(Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION), seen, {}) == []


def test_what_the_runs_left_behind_is_named(tmp_path: Path) -> None:
    for name, age in (("train.py", 3600.0), ("state.pt", 0.0)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    note = " ".join(order_notes(tmp_path, time.time() - 60))
    assert "`state.pt`" in note and "train.py" not in note and "%" not in note
    assert len(order_notes(tmp_path / "gone", 0.0)) == 1


def test_what_the_script_wrote_in_each_run_is_told_and_not_what_triage_did(tmp_path: Path) -> None:
    began = time.time() - 60
    for name in ("train.py", "logs", "__pycache__", ".cache", "triage-out"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / "train.py", (began - 3600,) * 2)
    note = written_note([tmp_path, tmp_path / "gone"], began, tmp_path / "triage-out" / "run")
    assert note is not None and ": `logs`. " in note and "each of its runs" in note
    with (tmp_path / "triage.log").open("w") as log:
        kept = os.dup(2)
        try:
            os.dup2(log.fileno(), 2)
            assert written_note([tmp_path], began, tmp_path / "triage-out" / "run") == note
        finally:
            os.dup2(kept, 2)
            os.close(kept)
    assert written_note([tmp_path], time.time() + 60, tmp_path / "triage-out" / "run") is None
