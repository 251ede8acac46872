"""Numbers that a script prints, compiled and uncompiled: which count, and whom they blame."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import RUNGS, Machine, walk_of

from triage.judge.lines import lines_of
from triage.judge.printed import differing, steadied, words_of
from triage.locate.leftovers import AS_IT_IS
from triage.locate.printed import (
    blame_aot_autograd,
    compare_printed,
    compare_written,
    note_of_others,
    take_others,
    worth_reading,
    worth_reading_files,
)
from triage.locate.walk import Walk
from triage.model.outcome import CompileCall
from triage.model.rungs import AS_IS
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.session.events import Event

RIGHT, WRONG = "step 0: loss 0.25\n", "step 0: loss 1.13\n"


class Printer(Machine):
    """Passes on every rung, and prints what we say, in turn; the last of it again and again."""

    def __init__(self, folder: Path, prints: dict[str, list[str]]) -> None:
        super().__init__({})
        self.folder, self.prints, self.stream = folder, prints, "out"

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        probe = super().__call__(request, cancel)
        said = self.prints[request.rung or self.top]
        log = self.folder / f"{request.name}.err.log"
        told = said.pop(0) if len(said) > 1 else said[0]
        (self.folder / f"{request.name}.{self.stream}.log").write_text(told)
        return replace(probe, log=log, notes=replace(probe.notes, graphs=1))


@pytest.fixture
def begun(tmp_path: Path) -> Callable[..., Walk]:
    def begin(**prints: list[str]) -> Walk:
        every = {rung: [WRONG] for rung in RUNGS}
        walk = walk_of(tmp_path)(Printer(tmp_path, {**every, **prints}))
        walk.first()
        return walk

    return begin


def test_numbers_that_are_wrong_from_dynamo_on_are_its_failure(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[RIGHT])
    assert worth_reading(walk)
    assert compare_printed(walk) == ""
    found = walk.settle()
    assert (found.stage, found.symptom) == (Stage.DYNAMO, Symptom.WRONG_RESULT) and found.settled and found.runs >= 2
    assert "`step 0: loss 1.13` where the uncompiled run prints `step 0: loss 0.25`" in found.signature.message


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("['start', 'sizes'] 36.7\n", "['sizes'] 33.3\n"),
        ("{'best': 'adam', 'loss': 0.25}\n", "{'best': 'sgd', 'loss': 1.13}\n"),
        ("[] 0.5\n", "['late'] 0.75\n"),
    ],
)
def test_a_line_is_known_although_the_words_that_it_quotes_are_others(
    begun: Callable[..., Walk], right: str, wrong: str
) -> None:
    walk = begun(uncompiled=[right], eager=[wrong], inductor=[wrong])
    compare_printed(walk)
    assert walk.settle().stage is Stage.DYNAMO
    assert next(iter(lines_of(right))) == next(iter(lines_of(wrong)))
    assert len({*lines_of("it's 0.5, and that's all"), *lines_of("it isn't 0.5, and that's all")}) == 2


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("hits: 4\n", "hits: 5\n"),
        ("a dog\nkept 3 of 9\n", "a cat\nkept 3 of 9\n"),
        ("{'a': 1, 'b': [2, 3]}\n", "{'a': 1, 'b': [2, 4]}\n"),
        ("dog: 0.50\n12 seen\n", "cat: 0.50\n12 seen\n"),
        ("order: first, second\n7\n", "order: second, second\n7\n"),
    ],
)
def test_counts_and_words_that_are_others_from_dynamo_on_are_its_failure(
    begun: Callable[..., Walk], right: str, wrong: str
) -> None:
    walk = begun(uncompiled=[right], eager=[wrong], inductor=[wrong])
    assert worth_reading(walk) and compare_printed(walk) == ""
    assert (walk.settle().stage, walk.conclusion().symptom) == (Stage.DYNAMO, Symptom.WRONG_RESULT)


def test_a_line_that_tells_a_time_as_well_is_shown_without_it(begun: Callable[..., Walk]) -> None:
    told = "iter 0: loss {}, time {}ms"
    right, wrong = (
        [told.format(3.75, time) for time in (12.5, 14.5)],
        [told.format(1.13, time) for time in (61.5, 70.5)],
    )
    walk = begun(uncompiled=right, eager=wrong[:1], inductor=wrong[1:])
    assert compare_printed(walk) == ""
    assert walk.settle().stage is Stage.DYNAMO
    shown = walk.start.outcome.exception
    assert shown is not None
    assert (
        shown.message
        == "it prints `iter 0: loss 1.13, time …` where the uncompiled run prints `iter 0: loss 3.75, time …`"
    )


ROW = "  {}  {}  0.{}\n"  # a table: the epoch, the loss, and a time that nothing tells as one


@pytest.mark.parametrize(
    ("right", "wrong", "stage"),
    [
        (["v3 loss 0.25", "v4 loss 0.25"], ["v5 loss 1.13", "v6 loss 1.13"], Stage.DYNAMO),
        (["run 3 loss 0.25", "run 4 loss 0.25"], ["run 5 loss 0.25", "run 6 loss 0.25"], Stage.NONE),
        (["a 3.7\n0.5", "a 4.1\n0.5"], ["a 9.5\n1.5", "a 9.5\n1.5"], Stage.DYNAMO),
        # The time is by chance the same in one of the rows.
        (
            [ROW.format(1, 0.25, 53) + ROW.format(2, 0.21, 41), ROW.format(1, 0.25, 53) + ROW.format(2, 0.21, 47)],
            [ROW.format(1, 0.25, 90) + ROW.format(2, 0.21, 44), ROW.format(1, 0.25, 90) + ROW.format(2, 0.21, 43)],
            Stage.NONE,
        ),
        (
            [ROW.format(1, 0.25, 53) + ROW.format(2, 0.21, 41), ROW.format(1, 0.25, 55) + ROW.format(2, 0.21, 47)],
            [ROW.format(1, 0.25, 90) + ROW.format(2, 1.13, 44), ROW.format(1, 0.25, 93) + ROW.format(2, 1.13, 43)],
            Stage.DYNAMO,
        ),
    ],
)
def test_a_number_that_is_another_in_each_run_does_not_keep_the_others_of_its_line_from_counting(
    begun: Callable[..., Walk], right: list[str], wrong: list[str], stage: Stage
) -> None:
    walk = begun(uncompiled=right, eager=wrong[:1], inductor=wrong[1:])
    assert compare_printed(walk) == ""
    assert walk.settle().stage is stage


def test_what_is_another_number_in_each_run_is_not_shown() -> None:
    right, again, wrong = (
        lines_of(f"run {n}: loss {loss} of 7, {n}.5") for n, loss in ((3, 0.25), (4, 0.25), (5, 1.13))
    )
    steady = steadied(right, again)
    (key,) = differing(steady, wrong)
    told = words_of(steady, wrong, key)
    assert told == "it prints `run …: loss 1.13 of 7, …` where the uncompiled run prints `run …: loss 0.25 of 7, …`"


def test_a_line_that_another_run_has_not_leaves_the_others_of_its_kind() -> None:
    first = lines_of("x 0.5\nx 0.7\nlate: yes\n")
    steady = steadied(first, lines_of("x 0.5\nx 0.7\nlate: no\n"))
    assert differing(steady, lines_of("x 0.5\nx 1.7\nlate: no\n")) == [("x#", 2)]
    assert not [line for line in steadied(first, lines_of("x 0.5\n")).values() if line.counts]


@pytest.mark.parametrize(
    ("uncompiled", "eager", "inductor", "stage"),
    [
        ("val loss 3.7832", "val loss 3.7731", "val loss 3.7731", Stage.DYNAMO),
        ("val loss 3.7832", "val loss 3.7731", "val loss 3.7732", Stage.DYNAMO),
        ("val loss 3.7832", "val loss 3.7731", "val loss 3.7740", Stage.NONE),  # two that round, each its way
        ("a 3.7832\nb 3.7832\n", "a 3.7731\nb 3.7731\n", "a 3.7731\nb 3.7790\n", Stage.NONE),  # one of them by chance
        ("val loss 3.7832", "val loss 3.7832", "val loss 3.7731", Stage.NONE),
        ("val loss 3.76", "val loss 3.77", "val loss 3.77", Stage.NONE),  # the last digit
        ("val loss 3.7832\nnoise 0.5", "val loss 3.7731\nnoise 0.5", "val loss 3.7731\nnoise 0.9", Stage.DYNAMO),
    ],
)
def test_of_what_dynamo_alone_makes_less_is_wrong_where_two_compiled_runs_are_closer(
    begun: Callable[..., Walk], uncompiled: str, eager: str, inductor: str, stage: Stage
) -> None:
    walk = begun(uncompiled=[uncompiled], eager=[eager], inductor=[inductor])
    assert compare_printed(walk) == ""
    assert walk.settle().stage is stage


class Writer(Printer):
    """What it writes two runs at once would write over."""

    def __init__(self, folder: Path, values: dict[str, str]) -> None:
        told = {
            rung: [f"run-{rung == 'eager':d}.json: loss: {value}\nrun.json: time: {value}"]
            for rung, value in values.items()
        }
        super().__init__(folder, told)
        self.stream = "written"


@pytest.mark.parametrize("eager", ["1.13", "0.25"])
def test_what_is_written_into_files_is_compared_too(tmp_path: Path, eager: str) -> None:
    machine = Writer(
        tmp_path, {**dict.fromkeys(RUNGS, "1.13"), "uncompiled": "0.25", "eager": eager, "aot_eager": eager}
    )
    walk = walk_of(tmp_path)(machine, jobs=2)
    walk.first()
    assert compare_printed(walk) == "" and not worth_reading_files(walk)
    walk.compared = walk.ask(AS_IT_IS, "as_is-compared")
    assert worth_reading_files(walk) and compare_written(walk) == ""
    words = "it writes `loss: 1.13` where the uncompiled run writes `loss: 0.25` into run-0.json"
    if eager == "1.13":
        assert walk.jobs() == 1 and walk.settle().stage is Stage.DYNAMO
        assert words in walk.conclusion().signature.message
    else:
        assert walk.jobs() == 2 and walk.conclusion().symptom is Symptom.NONE
        assert f"{words}; with `eager` it writes what" in note_of_others(walk, Symptom.NONE)


def test_files_that_read_alike_cost_one_uncompiled_run(tmp_path: Path) -> None:
    machine = Writer(tmp_path, dict.fromkeys(RUNGS, "0.25"))
    walk = walk_of(tmp_path)(machine)
    walk.first()
    walk.compared = walk.ask(AS_IT_IS, "as_is-compared")
    assert compare_written(walk) == "" and machine.visited() == ["as_is", "as_is-compared", "uncompiled"]


def test_words_that_only_a_higher_backend_prints_are_a_note(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=["a dog\n7\n"], eager=["a dog\n7\n"], inductor=["a cat\n7\n"])
    assert compare_printed(walk) == "" and walk.conclusion().symptom is Symptom.NONE
    take_others(walk)
    assert "`a cat` where the uncompiled run prints `a dog`; with `eager`" in note_of_others(walk, Symptom.NONE)


def test_a_script_that_prints_no_number_is_not_run_again(begun: Callable[..., Walk]) -> None:
    assert not worth_reading(begun(inductor=["all is well\n"]))


def test_a_changed_program_that_prints_them_still_is_no_way_round(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[RIGHT])
    compare_printed(walk)
    assert walk.ask_changed(walk.rungs[walk.top], "way", {}, 60.0, 60.0).outcome.failed


def test_a_line_that_varies_hides_no_other(begun: Callable[..., Walk]) -> None:
    walk = begun(
        uncompiled=[RIGHT + "step 1: loss 0.5\n", RIGHT + "step 1: loss 0.6\n"], eager=[WRONG * 2], inductor=[WRONG * 2]
    )
    compare_printed(walk)
    assert walk.settle().stage is Stage.DYNAMO


def test_a_program_that_is_compiled_with_dynamo_alone(tmp_path: Path) -> None:
    machine = Printer(tmp_path, {"uncompiled": [RIGHT], "eager": [WRONG]})
    machine.calls, machine.top = (CompileCall("eager"),), "eager"
    walk = walk_of(tmp_path)(machine)
    walk.first()
    compare_printed(walk)
    assert walk.settle().stage is Stage.DYNAMO


def test_numbers_that_only_a_higher_backend_prints_are_a_note(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[RIGHT], eager=[RIGHT])
    assert compare_printed(walk) == "" and walk.conclusion().symptom is Symptom.NONE
    take_others(walk)
    unexplained = note_of_others(walk, Symptom.NONE)
    assert (
        "with `eager` it prints what the uncompiled run prints. That is a wrong value, or rounding that grew"
        in unexplained
    )
    assert "prints. That is rounding that grew" in note_of_others(walk, Symptom.ROUNDING)
    assert note_of_others(walk, Symptom.WRONG_RESULT).endswith(
        "it prints what the uncompiled run prints."
    )  # told elsewhere


@pytest.mark.parametrize(
    ("compared", "again", "told", "runs"),
    [
        (WRONG, "", True, 0),
        (RIGHT, WRONG, True, 1),  # comparing may have changed it
        (RIGHT, RIGHT, False, 1),  # what the first run found was another world
        (None, WRONG, True, 1),
    ],
)
def test_the_run_that_compared_is_the_second_that_tells_it(
    tmp_path: Path, compared: str | None, again: str, told: bool, runs: int
) -> None:
    every = {rung: [WRONG] for rung in RUNGS}
    asked: list[Event] = []
    machine = Printer(tmp_path, {**every, "uncompiled": [RIGHT], "eager": [RIGHT]})
    walk = walk_of(tmp_path)(machine, heard=asked)
    walk.first()
    compare_printed(walk)
    machine.prints["inductor"] = [again]
    second = None
    if compared is not None:
        (tmp_path / "as_is-compared.out.log").write_text(compared)
        second = replace(walk.start, name="as_is-compared")
    take_others(walk, second)
    assert bool(walk.prints_others) is told and walk.once_others is None
    assert len([event for event in asked if event.facts.get("name") == f"{AS_IS}-again"]) == runs


def test_where_a_graph_is_wrong_it_is_told_as_it_was_seen(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[RIGHT], eager=[RIGHT])
    compare_printed(walk)
    top = walk.own_rung.name
    walk.seen[top] = [replace(walk.start, outcome=replace(walk.start.outcome, kind=OutcomeKind.WRONG_RESULT))]
    take_others(walk)
    assert note_of_others(walk, Symptom.WRONG_RESULT).endswith("it prints what the uncompiled run prints.")


def test_the_second_uncompiled_run_and_dynamos_go_on_side_by_side(begun: Callable[..., Walk]) -> None:
    for jobs, alone in ((1, 1), (2, 2)):
        walk = begun(uncompiled=[RIGHT, WRONG])  # it varies: one at a time nobody asks the other
        walk.jobs = lambda jobs=jobs: jobs  # type: ignore[method-assign,misc]
        compare_printed(walk)
        assert len({"uncompiled", "eager"} & set(walk.seen)) == alone


class Rounder(Printer):
    """Prints something else uncompiled where what its functions return is a rounding off."""

    rounded = ""

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        probe = super().__call__(request, cancel)
        if request.rounds_otherwise and self.rounded:
            (self.folder / f"{request.name}.{self.stream}.log").write_text(self.rounded)
        return probe


@pytest.mark.parametrize(
    ("aot", "rounded", "stage"),
    [
        ("on: False\n7\n", "", Stage.AOT_AUTOGRAD),
        ("on: False\n7\n", "on: False\n7\n", Stage.NONE),  # the program makes as much of a rounding
        (
            "on: True\n7\n",
            "",
            Stage.NONE,
        ),  # Inductor's alone: its kernels round otherwise, its random numbers are others
    ],
)
def test_what_is_printed_otherwise_from_aot_autograd_on_is_its_failure(
    tmp_path: Path, aot: str, rounded: str, stage: Stage
) -> None:
    right, wrong = "on: True\n7\n", "on: False\n7\n"
    machine = Rounder(tmp_path, {**{rung: [wrong] for rung in RUNGS}, "uncompiled": [right], "eager": [right]})
    machine.prints["aot_eager"], machine.rounded = [aot], rounded
    walk = walk_of(tmp_path)(machine)
    walk.first()
    assert compare_printed(walk) == "" and walk.conclusion().symptom is Symptom.NONE
    take_others(walk)
    blame_aot_autograd(walk)
    assert walk.settle().stage is stage
    assert bool(walk.prints_others) == (stage is Stage.NONE)


def test_what_there_is_no_time_to_ask_is_told(begun: Callable[..., Walk], monkeypatch: pytest.MonkeyPatch) -> None:
    walk = begun(uncompiled=[RIGHT])
    monkeypatch.setattr(type(walk.session.clock), "left", lambda clock: 1.5 * walk.start.outcome.seconds)
    assert worth_reading(walk)
    told = compare_printed(walk)
    assert (
        "it prints `step 0: loss 1.13` where the uncompiled run prints `step 0: loss 0.25`; there was no time" in told
    )
    assert walk.conclusion().symptom is Symptom.NONE and len(walk.seen["uncompiled"]) == 1


def test_nothing_is_noted_of_a_script_that_prints_the_same(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[WRONG])
    assert compare_printed(walk) == "" and note_of_others(walk, Symptom.NONE) == ""


def test_why_a_script_that_passes_is_run_again_is_told(tmp_path: Path) -> None:
    every = {rung: [WRONG] for rung in RUNGS}
    for uncompiled, told in (
        (RIGHT, ["it prints `step 0: loss 1.13` where the uncompiled run prints `step 0: loss 0.25`"]),
        (WRONG, []),
    ):
        heard: list[Event] = []
        walk = walk_of(tmp_path)(Printer(tmp_path, {**every, "uncompiled": [uncompiled]}), heard=heard)
        walk.first()
        compare_printed(walk)
        steps = [str(event.facts["text"]) for event in heard if event.kind == "engine_step"]
        assert [text.partition(": asking")[0] for text in steps] == told


def test_numbers_that_hang_on_numpys_random_stream_blame_nobody(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[RIGHT, RIGHT, "step 0: loss 0.75\n"])
    assert "depends on NumPy's random numbers" in compare_printed(walk)
    assert walk.conclusion().symptom is Symptom.NONE


def test_other_lines_are_told_all_the_same(begun: Callable[..., Walk]) -> None:
    walk = begun(
        uncompiled=["a 0.5\nb 0.5\n", "a 0.5\nb 0.5\n", "a 0.7\nb 0.5\n"],
        eager=["a 0.1\nb 0.1\n"],
        inductor=["a 0.1\nb 0.1\n"],
    )
    assert compare_printed(walk) == ""
    found = walk.settle().signature
    assert "`b 0.1` where the uncompiled run prints `b 0.5`" in found.message


@pytest.mark.parametrize(
    "prints",
    [
        {"uncompiled": [WRONG]},
        {"uncompiled": [RIGHT, "step 0: loss 0.75\n"]},  # it does not repeat itself
        {"uncompiled": [RIGHT, RIGHT + "step 1: loss 0.75\n"]},  # nor how often
        {"uncompiled": [RIGHT], "eager": [RIGHT], "inductor": [WRONG, RIGHT]},  # the first run left something behind
        {"uncompiled": ["0.0\n"], "eager": ["2.5\n"], "inductor": ["9.5\n"]},  # a time that nothing tells as one
        {"uncompiled": ["0.0\n"], "eager": ["0.0\n"], "inductor": ["9.5\n", "8.5\n"]},
    ],
)
def test_nothing_is_said(begun: Callable[..., Walk], prints: dict[str, list[str]]) -> None:
    walk = begun(**prints)
    assert compare_printed(walk) == "" and walk.conclusion().symptom is Symptom.NONE


def test_a_program_that_prints_the_same_is_run_uncompiled_once(begun: Callable[..., Walk]) -> None:
    walk = begun(uncompiled=[WRONG])
    compare_printed(walk)
    assert [name for name, probes in walk.seen.items() for _ in probes if name != AS_IS] == ["inductor", "uncompiled"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 0.10 s", "took 9.00 s"),
        ("epoch 3 took 0.10 s, loss 0.25", "epoch 3 took 9.00 s, loss 0.25"),
        ("12.5 images per second, loss 0.25", "99.5 images per second, loss 0.25"),
        ("Elapsed time for epoch 3: 12.5, loss 0.25", "Elapsed time for epoch 3: 99.5, loss 0.25"),
        ("times: 2.5, 4.5, 6.5", "times: 2.5, 9.5, 6.5"),
        ("[0.5, 0.3] seconds", "[0.5, 0.7] seconds"),
        ("30 fps, 0 frames dropped", "30 fps, 12 frames dropped"),
        ("compile: 0.00", "compile: 3.50"),
        ("12.5 it/s", "99.5 it/s"),
        ("40.5% 2/5 [00:01<00:02, 4.5it/s]", "60.5% 3/5 [00:01<00:02, 4.5it/s]"),
        ("torch 2.13.0", "torch 2.14.0"),
        ("graph breaks 0", "graph breaks 3"),
        ("largest difference 0.0", "largest difference 1.2e-07"),
        ("loss 0.250", "loss 0.251"),
        ("loss nan", "loss nan"),
        ("loss 0.5\nloss 0.4", "loss 0.4"),
        ("2 graphs compiled", "0 graphs compiled"),
        ("recompiled: False", "recompiled: True"),
        ("compiled 2 functions", "compiled 0 functions"),
        ("graphs compiled per epoch: [2, 0]", "graphs compiled per epoch: [0, 0]"),
        ("epoch 3, 812 of 1000 right", "epoch 3, 811 of 1000 right"),
        ("one 1\ntwo 2", "two 2\none 1"),  # of two threads, say
        ("done\n2026-11-28 09:10:11", "done\n2026-11-28 09:11:12"),
        ("Net(3)", "OptimizedModule(3)"),
        ("{'cat', 'dog'} 2", "{'dog', 'cat'} 2"),  # the order of a set is another in each process
        ("[3, 1]", "[1, 3]"),
        ("tensor(0.5, grad_fn=<MeanBackward0>)", "tensor(0.5, grad_fn=<CompiledFunctionBackward>)"),
        ("30 fps", "60 fps"),
        ("12:30:01.250 step 1", "12:30:01.750 step 2"),
    ],
)
def test_what_is_measured_counted_or_rounded_is_no_difference(one: str, other: str) -> None:
    assert differing(lines_of(one), lines_of(other)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("loss 0.25", "loss 1.13"),
        ("loss 0.25", "loss nan"),
        ("x -1.5e-2", "x 1.5e-2"),
        ("[0.5, 0.7]", "[0.7, 0.5]"),
        ("tensor(0.5, grad_fn=<MeanBackward0>)", "tensor(0.7, grad_fn=<CompiledFunctionBackward>)"),
        ("[0.5]", "[.75]"),
        ("accuracy 91.5%", "accuracy 62.0%"),
        ("iter 0: loss 3.75, time 68692.12ms, mfu 1.5%", "iter 0: loss 3.99, time 71234.56ms, mfu 2.5%"),
        ("step 10 | loss 0.25 | 12.3 ms/step | 1234 tok/s", "step 10 | loss 1.13 | 45.6 ms/step | 99 tok/s"),
        ("Epoch 1 loss 0.25 time 2.3s", "Epoch 1 loss 1.13 time 4.5s"),
        ("12.5 images per second, loss 0.25", "99.5 images per second, loss 1.13"),
        ("{'loss': 0.25, 'epoch_time': 2.3}", "{'loss': 1.13, 'epoch_time': 4.5}"),
        ("compiled int64 [0, 60, 150]", "compiled int8 [0, 60, -106]"),  # beside a line that tells of eager
        ("Inductor: tensor([44, 100])", "Inductor: tensor([300, 100])"),
        ("compiled tensor(44, dtype=torch.uint8)", "compiled tensor(300)"),
    ],
)
def test_other_results_are(one: str, other: str) -> None:
    assert len(differing(lines_of(one), lines_of(other))) == 1


BAR = "it: 100%|###| 9/9 [00:01<00:00, 8.1it/s, loss={}, n=3]"
LOG = "2026-11-28 12:30:01,250 INFO train.py:42 epoch 3: loss {} after 17 steps"


@pytest.mark.parametrize(
    ("one", "other", "number"),
    [
        (LOG.format(0.25), LOG.format(1.13).replace("12:30:01,250", "12:31:07,880"), 1),
        (LOG.format(0.25), LOG.format(0.25).replace("17", "18"), 0),  # a count of whatever else is logged
        (LOG.format(0.25), LOG.format(0.25).replace("12:30:01,250", "12:31:07.880"), 0),
        ("train.py:3: FutureWarning: gone in 2.5", "train.py:3: FutureWarning: gone in 2.7", 0),
        ("W1128 12:30:01.250 3 torch/a.py:3] 0.25", "W1128 12:30:01.250 3 torch/a.py:3] 1.13", 0),
        ("10%|# | 1/9 [00:01<00:09, 8.1it/s, loss=0.25]", "10%|# | 1/9 [00:01<00:09, 8.1it/s, loss=1.13]", 0),
        (f"{BAR.format(0.25)}\r{BAR.format(0.25)}", f"it:   5%|\r{BAR.format(1.13).replace('8.1', '8.5')}\n", 1),
        (BAR.format(0.25), BAR.format(0.25).replace("8.1", "8.5"), 0),
    ],
)
def test_of_what_is_logged_only_numbers_with_a_point_are_results(one: str, other: str, number: int) -> None:
    found = differing(lines_of("done\n", one), lines_of("done\n", other))
    assert len(found) == number


def test_a_bar_may_be_drawn_on_standard_output_too() -> None:
    one, other = (f"{BAR.format(value).replace('n=3', f'n={number}')}\n" for value, number in ((0.25, 3), (1.13, 4)))
    assert [line.numbers for line in lines_of(one).values()] == [(0.25,)]
    assert len(differing(lines_of(one), lines_of(other))) == 1
    assert not lines_of("it: 10%|# | 1/9 [00:01<00:09, 8.1it/s, loss=0.25]")


def test_a_line_that_one_run_alone_logs_does_not_keep_words_from_being_compared() -> None:
    one, other = lines_of("label cat\n", "rate 0.5\n"), lines_of("label dog\n")
    assert len(differing(one, other)) == 1
