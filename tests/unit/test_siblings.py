"""Other failures that were met on the way: which are the compiler's own, and which of their scripts may be shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from choosing import FAILS, OTHER, PASSES, SIGNATURE, Finds, Left, Passing, chosen

from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.interface import Problem, Reduction, SiblingScript
from triage.reduce.siblings import compilers_own, without_values
from triage.reduce.verifying import FreshRuns, Reproduced


def sibling(name: str, *frames: str) -> FailureSignature:
    return FailureSignature(OutcomeKind.EXCEPTION, name, name, frames=frames)


def test_a_failure_that_the_reducer_made_itself_is_none_that_was_met_on_the_way() -> None:
    runner = Passing()
    met = [
        SiblingScript(sibling("NameError"), "fails by itself\n"),
        SiblingScript(sibling("LoweringError"), "compiled\n"),
    ]
    kept = compilers_own([*met, met[1]], "aot_eager", runner, Left(spent=False))
    assert [each.signature.exception_type for each in kept] == ["LoweringError"]
    # No kernels are built for the answer.
    assert runner.asked == [("fails by itself\n", "eager"), ("compiled\n", "eager")]


def test_what_cannot_be_tried_any_more_counts_only_where_torch_raised_it() -> None:
    met = [
        SiblingScript(sibling("NameError"), "a\n"),
        SiblingScript(sibling("LoweringError", "torch/_inductor/graph.py:run"), "b\n"),
        SiblingScript(sibling("AttributeError", "torch/nn/modules/module.py:__getattr__"), "c\n"),  # by an edit
    ]
    kept = compilers_own(met, "aot_eager", Passing(), Left(spent=True))
    assert [each.source for each in kept] == ["b\n"]


def test_each_is_asked_in_one_go_and_what_there_was_no_time_for_is_judged_by_its_frames() -> None:
    class Twice(Passing):
        """The budget ends with the second answer."""

        def run_many(self, sources: Any, **how: Any) -> Any:
            for answer in super().run_many(sources, **how):
                left.ended = answer[0] == 1
                yield answer

    class Ends(Left):
        ended = False

        def spent(self) -> bool:
            return self.ended

    met = [
        SiblingScript(sibling(f"{number}Error", frame), f"{number}\n")
        for number, frame in enumerate(("", "", "torch/_inductor/graph.py:run", "torch/nn/modules/module.py:f"))
    ]
    left, runner = Ends(spent=False), Twice()
    assert [each.source for each in compilers_own(met, "aot_eager", runner, left)] == ["0\n", "1\n", "2\n"]
    assert [source for source, _ in runner.asked] == ["0\n", "1\n"]


@pytest.mark.parametrize(("seconds", "kept"), [(60.0, 0), (600.0, 1)])
def test_what_ends_when_it_is_waited_for_longer_is_no_hang(seconds: float, kept: int) -> None:
    class Slow(Passing):
        def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
            hangs = rung == "inductor" and timeout is not None and timeout < seconds
            return replace(PASSES, outcome=Outcome(OutcomeKind.HANG)) if hangs else PASSES

    met = [SiblingScript(replace(sibling("hang"), kind=OutcomeKind.HANG), "slow\n")]
    found = compilers_own(met, "aot_eager", Slow(), Left(spent=False), "inductor")
    assert len(found) == kept


def test_what_hangs_without_a_compiler_too_is_not_waited_for_long() -> None:
    class Endless(Passing):
        def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
            limits.append(timeout or 1e9)
            return replace(PASSES, outcome=Outcome(OutcomeKind.HANG))

    limits: list[float] = []
    met = [SiblingScript(replace(sibling("hang"), kind=OutcomeKind.HANG), "endless\n")]
    assert not compilers_own(met, "uncompiled", Endless(), Left(spent=False), "eager")
    assert sum(limits) <= 10.0


class Made:
    """Fails in another way with what is written in `telling`, on the failing rung alone."""

    def __init__(self, telling: str) -> None:
        self.telling = telling

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        return OTHER if self.telling in source and rung == "inductor" else PASSES


@pytest.mark.parametrize(
    ("telling", "include", "shown"),
    [
        ("x = ", False, "x = randn\n"),  # any values do
        ("ones", False, "x = ones\n"),
        ("nothing", False, None),  # only values of the program do, as far as is known
        ("nothing", True, "x = 0.125\n"),
        ("ones", True, "x = ones\n"),  # asked for, and not needed
    ],
)
def test_another_failure_is_shown_on_made_up_values_or_not_at_all(
    telling: str, include: bool, shown: str | None
) -> None:
    problem = Problem(
        SIGNATURE, Stage.INDUCTOR, "inductor", None, (), Path(), passing="aot_eager", include_data=include
    )
    met = SiblingScript(OTHER.signature, "x = 0.125\n", ("x = randn\n", "x = ones\n"))
    assert without_values(met, problem, Made(telling), Left(spent=False)) == shown


def found_beside(engine: Any) -> Reproduced | None:
    """What is chosen where this engine alone is tried, and each script holds."""
    problem = Problem(SIGNATURE, Stage.DYNAMO, "eager", None, (), Path(), passing="uncompiled")
    found, _ = chosen(problem, [engine], lambda source, runs: FreshRuns([FAILS] * runs), runner=Passing())
    return found


def test_a_failure_whose_script_is_left_out_is_told_with_what_to_type_for_it() -> None:
    class Meets(Finds):
        def reduce(self, *_: Any) -> Reduction:
            return replace(super().reduce(), siblings=(SiblingScript(sibling("ValueError"), "0.125\n", ()),))

    found = found_beside(Meets())
    assert found is not None and [text for _, text in found.others] == [None]
    assert "(`ValueError`)" in found.notes[-1] and "`--include-data` keeps it" in found.notes[-1]


def test_a_sibling_is_headed_by_its_own_failure() -> None:
    class Meets(Finds):
        def reduce(self, *_: Any) -> Reduction:
            source = "# KeyError: boom\n# Stage dynamo.\ng()\n"
            return replace(super().reduce(), siblings=(SiblingScript(sibling("ValueError"), source),))

    found = found_beside(Meets())
    assert found is not None and [text for _, text in found.others] == ["# ValueError\n# Stage dynamo.\ng()\n"]
