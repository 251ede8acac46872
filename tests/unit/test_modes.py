"""`triage explain --modes` without torch: the rows, what is made of measured rounds, the words, the mark of a step."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from triage.errors import UsageError
from triage.explain.modes import AS_IT_IS, MODES, Measured, Mode, median_with_interval, modes_for, ratios, row_of
from triage.explain.steps import MARK, marked
from triage.model.explanation import Interval, ModeRow
from triage.model.outcome import CompileCall
from triage.probe.target import Target
from triage.report.modes import all_remarks, cells, verdict
from triage.stories import explain_modes
from triage.stories.explain_modes import ModesWanted
from triage.stories.explain_rounds import _Sets, measured_in

PLAIN = (CompileCall(None),)
NAMES = [mode.name for mode in MODES]


def names(*arguments: object) -> list[str]:
    return [mode.name for mode in modes_for(*arguments)]


def test_a_row_for_each_mode_and_each_backend_of_this_torch() -> None:
    assert names(PLAIN, ["cudagraphs", "inductor"]) == [*NAMES, "backend cudagraphs"]


@pytest.mark.parametrize(
    "call", [CompileCall("aot_eager"), CompileCall(None, mode="max-autotune"), CompileCall(None, dynamic=True)]
)
def test_a_program_that_is_none_of_them_has_a_row_of_its_own(call: CompileCall) -> None:
    assert names((call,), [])[:2] == ["uncompiled", AS_IT_IS.name]
    assert AS_IT_IS.name not in names((CompileCall("inductor", mode="default"),), [])


def test_uncompiled_is_measured_whatever_is_asked_for() -> None:
    assert names(PLAIN, ["tvm"], ["default", "tvm"]) == ["uncompiled", "default", "backend tvm"]
    with pytest.raises(KeyError, match="fast"):
        modes_for(PLAIN, [], ["fast"])


def test_the_interval_of_a_median_is_made_of_values_that_were_measured() -> None:
    values = [float(number) for number in range(1, 22)]
    assert median_with_interval(values) == Interval(11.0, 6.0, 16.0)  # 21 values: the 6th and the 16th, 97.3 %
    assert median_with_interval([3.0, 1.0, 2.0]) == Interval(2.0, 1.0, 3.0)
    assert median_with_interval([1.0]) == Interval(1.0, 1.0, 1.0)


def test_a_machine_that_is_slow_for_a_round_changes_no_ratio() -> None:
    slow = [1.0, 1.0, 5.0, 1.0, 1.0, 7.0]
    assert ratios([2 * each for each in slow], slow) == (2.0,) * 6


UNCOMPILED = Measured(blocks=(0.4,) * 8, steps=80)


def test_what_differs_between_processes_is_in_the_interval() -> None:
    one, other = (0.40, 0.41, 0.40) * 2, (0.44, 0.45, 0.44) * 2
    compiled = Measured(blocks=(0.20,) * 6, later=((0.20,) * 6, (0.20,) * 6), compiling=1.0)
    found = row_of(MODES[1], compiled, Measured(blocks=one, later=(other, one)))
    assert found.speedup.low == pytest.approx(2.0)
    assert found.speedup.high == pytest.approx(2.2)
    assert (found.rounds, found.processes) == (18, 3)


def test_a_process_that_ended_early_is_compared_with_its_own_rounds() -> None:
    slow = Measured(blocks=(1.0, 1.0), later=((4.0, 4.0), (2.0, 2.0)))
    fast = Measured(blocks=(0.5, 0.5), later=((), (1.0, 1.0)))
    found = row_of(MODES[1], fast, slow)
    assert found.speedup == Interval(2.0, 2.0, 2.0) and (found.rounds, found.processes) == (4, 2)


def test_compiling_pays_once_its_seconds_are_saved() -> None:
    row = row_of(MODES[1], Measured(blocks=(0.1,) * 8, steps=80, compiling=3.1, peak=2**30), UNCOMPILED)
    assert (row.outcome, row.step, row.speedup) == ("measured", Interval(0.1, 0.1, 0.1), Interval(4.0, 4.0, 4.0))
    assert row.compile_seconds == pytest.approx(3.0) and row.pays_after == 10
    assert cells(row)[3:] == ("3.0 s", "10 steps", "1024 MiB")


@pytest.mark.parametrize("blocks", [(0.5,) * 8, (0.1, 0.7) * 4])
def test_it_never_pays_where_nothing_is_saved_for_sure(blocks: tuple[float, ...]) -> None:
    row = row_of(MODES[1], Measured(blocks=blocks, compiling=3.0), UNCOMPILED)
    assert row.pays_after is None and cells(row)[4] == "never"


def test_what_was_not_measured_is_not_a_number() -> None:
    row = row_of(Mode("backend tvm", "tvm"), Measured(failure="ImportError: install apache-tvm"), UNCOMPILED)
    assert (row.outcome, row.step, cells(row)[1]) == ("failed", None, "fails")
    assert all_remarks([row]) == ["backend tvm: ImportError: install apache-tvm"]
    assert row_of(MODES[1], Measured(), UNCOMPILED).outcome == "not_run"


@pytest.mark.parametrize(("seconds", "left", "worth"), [(10.0, 1e4, True), (500.0, 1e4, False), (10.0, 30.0, False)])
def test_further_processes_are_started_where_that_takes_no_more_than_the_rest(
    seconds: float, left: float, worth: bool, tmp_path: Path
) -> None:
    session = SimpleNamespace(clock=SimpleNamespace(left=lambda: left, spent=lambda: False))
    sets = _Sets(session, None, {}, tmp_path)
    assert not sets.worth_another()  # of nothing
    sets._modes, sets._seconds = MODES[:2], seconds
    assert sets.worth_another() is worth


def test_a_process_that_was_measured_before_it_failed_was_measured() -> None:
    events = [{"e": "block", "seconds": 0.1, "steps": 3}, {"e": "measured", "steps": 7, "compiling": 2.0, "memory": 5}]
    told = measured_in(events, "RuntimeError: later")
    assert (told.blocks, told.steps, told.compiling, told.peak, told.failure) == ((0.1,), 7, 2.0, 5, None)
    assert measured_in([], "RuntimeError: early").failure == "RuntimeError: early"
    assert "ValueError" in (measured_in([{"e": "not_repeated", "reason": "ValueError: no"}], None).failure or "")


def row(name: str, low: float, middle: float, high: float, **facts: object) -> ModeRow:
    step = Interval(1 / middle, 1 / high, 1 / low)
    given = {"compile_seconds": 2.0, "compared": True, **facts}
    return ModeRow(name, "measured", step=step, speedup=Interval(middle, low, high), **given)


BASE = ModeRow("uncompiled", "measured", compile_seconds=0.0, step=Interval(1, 1, 1), speedup=Interval(1, 1, 1))


def test_the_best_mode_is_named_with_those_that_nobody_can_tell_from_it() -> None:
    rows = [
        BASE,
        row("default", 1.8, 2.0, 2.2, pays_after=9),
        row("max-autotune", 1.9, 2.1, 2.3),
        row("dynamic=True", 1.1, 1.2, 1.3),
    ]
    assert verdict(rows) == (
        "default (max-autotune cannot be told apart from it): 2 (1.8..2.2) times as fast as uncompiled, and pays for compiling "
        "after 9 steps."
    )


def test_a_mode_with_wrong_results_is_never_the_best() -> None:
    rows = [BASE, row("default", 3.0, 4.0, 5.0, wrong="output 0: NaN"), row("dynamic=True", 1.1, 1.2, 1.3)]
    assert verdict(rows).startswith("dynamic=True: 1.2")
    assert verdict(rows[:2]) == "No mode that was measured gives right results."
    assert all_remarks(rows) == ["default: WRONG RESULTS: output 0: NaN"]


def test_what_varies_too_much_is_said_so() -> None:
    rows = [BASE, row("default", 0.8, 1.2, 1.9)]
    assert verdict(rows).startswith("No mode is faster") and "not told apart from uncompiled" in all_remarks(rows)[0]


PROGRAM = b"""class Trainer:
    @property
    def step(self): ...

    @decorated
    def train(self):
        pass

def step():
    def train(): ...
"""


@pytest.mark.parametrize(("name", "line"), [("step", 8), ("Trainer.train", 4), ("Trainer.step", 1), ("train", 4)])
def test_the_step_is_marked_before_its_decorators(name: str, line: int) -> None:
    path = Path("train.py")
    (text,) = marked([(Path("broken.py"), b"def ("), (path, PROGRAM)], name).values()
    lines = text.splitlines()
    assert lines[line].strip() == MARK and len(lines) == len(PROGRAM.splitlines()) + 1
    compile(text, "train.py", "exec")


def test_a_function_that_nobody_defines_is_an_error() -> None:
    with pytest.raises(KeyError):
        marked([(Path("train.py"), PROGRAM)], "evaluate")


@pytest.mark.parametrize("name", ["default", "as the program has it", "backend tvm", "tvm"])
def test_a_row_of_this_torch_may_be_named_before_anything_is_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_modes, "backends_of", lambda *_: ["inductor", "tvm"])
    ModesWanted((name,)).check(Target("python", ("python",), Path()), 1.0)


def test_another_is_refused_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_modes, "backends_of", lambda *_: ["inductor", "tvm"])
    with pytest.raises(UsageError, match="There is no mode foo") as caught:
        ModesWanted(("default", "foo")).check(Target("python", ("python",), Path()), 1.0)
    assert "max-autotune" in caught.value.next and "backend tvm" in caught.value.next
