"""What becomes of what an engine found: verified or not, given up for a larger one, kept at an interrupt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from choosing import BOOM, FAILS, ORACLE, PASSES, SIGNATURE, Finds, FindsLarger, Passing, chosen
from printer_cases import case, meta, node, tensor

from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.report import Control, Reproducer
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.choose import MOST_LARGER, SMALLER_FAILED, Attempt, InterruptedReductionError
from triage.reduce.interface import NoReduction, Problem, Reduction, SiblingScript
from triage.reduce.verifying import FreshRuns, Reproduced
from triage.report.wording import reproducer_claim
from triage.session.events import Emitter, Journal
from triage.stories.resume import earlier_run
from triage.trial.facts import not_run


def test_an_interrupt_during_the_verification_keeps_the_script(tmp_path: Path) -> None:
    def interrupted(source: str, runs: int) -> FreshRuns:
        raise KeyboardInterrupt

    problem = Problem(SIGNATURE, Stage.DYNAMO, "eager", None, (), tmp_path)
    with pytest.raises(InterruptedReductionError) as caught:
        chosen(problem, [Finds()], interrupted)
    best = caught.value.best
    assert best.source == "raise KeyError('boom')\n"
    assert not best.verified and best.verified_runs == 0
    assert "It was not verified in a fresh process." in best.notes


def test_what_is_enough_to_name_the_operation_is_not_verified_and_not_called_so(tmp_path: Path) -> None:
    class FindsEnough(Finds):
        def reduce(self, *_: Any) -> Reduction:
            return replace(
                super().reduce(), ops=1, minimal=False, enough=True, siblings=(SiblingScript(SIGNATURE, "other"),)
            )

    def never(source: str, runs: int) -> FreshRuns:
        raise AssertionError("nobody asked for it")

    assert SIGNATURE is not None
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), tmp_path, operation_only=True)
    found, _ = chosen(problem, [FindsEnough()], never)
    assert not found.verified and found.others == ()
    assert found.notes == ("It was not verified in a fresh process.",)


@pytest.mark.parametrize(("stage", "ops"), [(Stage.BACKEND, 2), (Stage.DYNAMO, None)])
def test_a_script_that_was_reduced_as_text_has_the_operations_of_its_failing_graph(
    tmp_path: Path, stage: Stage, ops: int | None
) -> None:
    nodes = [node("y", "torch.sin", "%x", out=meta(4)), node("z", "torch.cos", "%x", out=meta(4))]
    graph = case([tensor("x", 4)], nodes, "%y")  # nothing uses z, but it may be what the backend chokes on
    failing = CandidateResult(BOOM, AgentNotes(), SIGNATURE, compiled=True, graph=graph)
    problem = Problem(SIGNATURE, stage, "eager", None, (), tmp_path)
    found, _ = chosen(problem, [Finds()], lambda *_: FreshRuns([failing] * 3))
    assert found.verified
    assert found.ops == ops


def test_where_the_smallest_does_not_hold_the_next_larger_one_is_tried(tmp_path: Path) -> None:
    class FindsTwo(Finds):
        def reduce(self, *_: Any) -> Reduction:
            small, large = super().reduce(), replace(super().reduce(), source="large\n", ops=3, minimal=False)
            return replace(small, ops=2, larger=(large, replace(large, source="whole\n", ops=8)))

    failing = CandidateResult(BOOM, AgentNotes(), SIGNATURE, compiled=True)
    passing = CandidateResult(Outcome(OutcomeKind.OK, 0.1, 0), AgentNotes(), None, compiled=True)
    asked: list[tuple[str, int]] = []

    def verify(source: str, runs: int) -> FreshRuns:
        asked.append((source, runs))
        return FreshRuns([failing if source == "large\n" else passing] * runs)

    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), tmp_path)
    found, _ = chosen(problem, [FindsTwo()], verify)
    assert (found.source, found.ops, found.verified, found.minimal) == ("large\n", 3, True, False)
    assert SMALLER_FAILED in found.notes
    assert asked == [("raise KeyError('boom')\n", 3), ("large\n", 1), ("large\n", 2)]


def controlled(engine: Any, controls: dict[str, CandidateResult], script: str | None = None) -> tuple[Any, list[str]]:
    """What is chosen where every script fails the same way, and ends like this on the passing rung."""
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), Path(), passing="aot_eager")
    found, notes = chosen(
        problem, [engine], lambda source, runs: FreshRuns([FAILS] * runs, controls[source]), script=script
    )
    return found, list(notes)


def test_the_run_on_the_passing_rung_is_recorded() -> None:
    found, _ = controlled(FindsLarger(), {"small\n": PASSES})
    assert (found.source, found.verified, found.control) == ("small\n", True, Control("aot_eager", "ok"))


def test_what_fails_on_the_passing_rung_as_well_gives_way_to_a_larger_one() -> None:
    found, _ = controlled(FindsLarger(), {"small\n": FAILS, "large\n": PASSES})
    assert (found.source, found.verified) == ("large\n", True)
    assert "A smaller script fails with `aot_eager` too." in found.notes


def test_where_all_of_them_fail_there_none_is_shown_and_the_note_says_why() -> None:
    found, notes = controlled(FindsLarger(), dict.fromkeys(["small\n", "large\n", "script\n"], FAILS), "script\n")
    assert found is None
    assert (
        notes[0]
        == "Reducing the captured graph ended in a script that fails with `aot_eager` too; it is not shown as a reproducer."
    )
    assert notes[1] == "The script alone in an empty directory fails with `aot_eager` too."


def test_a_control_that_could_not_be_run_says_nothing() -> None:
    invalid = CandidateResult(Outcome(OutcomeKind.INVALID), AgentNotes(), None, compiled=False)
    found, _ = controlled(FindsLarger(), {"small\n": invalid})
    assert found.verified and found.control is None


@pytest.mark.parametrize(
    ("messages", "first", "private"),
    [
        (["rank 1 of 1"] * 3, "# ValueError: rank 1 of 1", None),
        (
            ["rank 1 of 1", "rank 1 of 2", "rank 1 of 1"],
            "# ValueError: rank 2 of 3",
            None,
        ),  # no more true than the script's
        (["rank 1 of 1"] * 3, "# ValueError: rank 2 of 3", "data\n"),
    ],
)
def test_the_comment_on_top_has_the_error_of_the_reproducer_itself(
    messages: list[str], first: str, private: str | None
) -> None:
    """The script's had other numbers. An error that may quote private data is not told."""

    def failing(message: str) -> CandidateResult:
        end = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("ValueError", message))
        return CandidateResult(end, AgentNotes(), signature_of(end), compiled=True)

    wanted = failing("rank 2 of 3").signature
    assert wanted is not None
    source = "# ValueError: rank 2 of 3\n# Stage dynamo.\n# ValueError: rank 2 of 3\nf()\n"

    class FindsCommented(Finds):
        def reduce(self, *_: Any) -> Reduction:
            return replace(super().reduce(), source=source, private=private)

    told: list[Any] = []
    oracle = SignatureOracle(wanted)
    found, _ = chosen(
        Problem(wanted, Stage.DYNAMO, "eager", None, (), Path()),
        [FindsCommented()],
        lambda source, runs: FreshRuns([failing(message) for message in messages]),
        oracle=oracle,
        emit=lambda kind, **facts: told.append(facts.get("count")),
    )
    assert found.verified
    assert found.source == source.replace("# ValueError: rank 2 of 3", first, 1)
    assert private is None or not any(count.error for count in told if count is not None)


# -- the end of the budget ---------------------------------------------------------------------------------------------


def test_what_the_budget_left_no_time_to_verify_is_kept_and_said_not_to_be_verified() -> None:
    ran = [FAILS, FAILS, not_run("the budget ended")]
    found, _ = chosen(
        Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), Path()),
        [Finds()],
        lambda source, runs: FreshRuns(ran),
        spent=True,
    )
    assert (found.verified, found.verified_runs, found.runs) == (False, 2, 2)
    assert "The budget ended before it was verified." in found.notes


# -- interrupts -------------------------------------------------------------------------------------------------------


def test_ctrl_c_while_pytorchs_minifier_is_judged_ends_the_run() -> None:
    class Interrupted(Finds):
        def reduce(self, *_: Any) -> Reduction:
            return replace(super().reduce(), engine="repro_after", interrupted=True)

    with pytest.raises(InterruptedReductionError) as caught:
        controlled(Interrupted(), {})
    assert not caught.value.best.verified


class FindsWithData(Finds):
    def reduce(self, *_: Any) -> Reduction:
        return replace(super().reduce(), source="small\n", private="data\nsmall\n", needs=("c.json",))


def test_ctrl_c_while_other_failures_are_looked_at_keeps_what_was_verified(tmp_path: Path) -> None:
    class MetAnother(Finds):
        def reduce(self, *_: Any) -> Reduction:
            return replace(super().reduce(), siblings=(SiblingScript(SIGNATURE, "raise KeyError('other')\n"),))

    class Interrupted:
        def run_many(self, *_: Any, **__: Any) -> CandidateResult:
            raise KeyboardInterrupt

    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), tmp_path)
    with pytest.raises(InterruptedReductionError) as caught:
        chosen(problem, [MetAnother()], lambda source, runs: FreshRuns([FAILS] * runs), runner=Interrupted())
    best = caught.value.best
    assert best.verified and best.source == "raise KeyError('boom')\n"


def test_what_needs_data_that_it_does_not_hold_is_run_with_it_and_not_called_verified() -> None:
    found, _ = controlled(FindsWithData(), {"data\nsmall\n": PASSES})
    assert (found.source, found.verified, found.verified_runs, found.needs) == ("small\n", False, 3, ("c.json",))
    report = Reproducer(
        "repro.py", False, 3, True, "source", "native", None, 1, 1, 1.0, False, runs=3, needs=found.needs
    )
    assert reproducer_claim(report).startswith(
        "Not complete: it failed the same way in 3 of 3 runs with `c.json` of the program."
    )


def test_what_fails_on_the_passing_rung_with_its_data_is_not_shown_either() -> None:
    found, notes = controlled(FindsWithData(), {"data\nsmall\n": FAILS})
    assert found is None and "it is not shown as a reproducer" in notes[0]


class Ends:
    """An engine that ends in a script of so many lines."""

    def __init__(self, source: str, lines: int, subject: str) -> None:
        self.name, self.subject = "native", subject
        self.source = source + "x = 1\n" * (lines - 1)

    def reduce(self, *_: Any) -> Reduction:
        return Reduction(self.source, "native", "source", 1, 3, 1.0, True, True)


@pytest.mark.parametrize(
    ("text", "lines", "holds", "taken"),
    [
        ("torch.func.jacfwd(f)(x)\n", 5, True, "text"),
        ("torch.func.jacfwd(f)(x)\n", 30, True, "graph"),
        ("torch.func.jacfwd(f)(x)\n", 5, False, "graph"),
        ("torch._C._functorch._make_dual(x)\n", 5, True, "graph"),
    ],
)
def test_what_no_person_writes_gives_way_to_a_text_that_reads_better(
    tmp_path: Path, text: str, lines: int, holds: bool, taken: str
) -> None:
    def verify(source: str, runs: int) -> FreshRuns:
        outcome = BOOM if holds or "_make_dual" in source else Outcome(OutcomeKind.OK)
        return FreshRuns([CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)] * runs, None)

    graph = Ends("torch._C._functorch._make_dual(x)\n", 20, "the captured graph")
    attempts = [
        Attempt(graph, ORACLE),
        Attempt(graph, ORACLE),
        Attempt(Ends(text, lines, "text"), ORACLE, of_text=True),
    ]
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), tmp_path)
    asked: list[str] = []

    def heard(kind: str, **facts: Any) -> None:
        asked.extend([facts["subject"]] if kind == "engine_started" else [])

    found, _ = chosen(problem, attempts, verify, emit=heard)
    assert found.verified and asked == ["the captured graph", "text"]
    assert ("_make_dual" not in found.source) == (taken == "text")


def test_a_setting_of_aot_autograd_is_something_that_a_person_writes(tmp_path: Path) -> None:
    asked: list[str] = []

    def heard(kind: str, **facts: Any) -> None:
        asked.extend([facts["subject"]] if kind == "engine_started" else [])

    def verify(source: str, runs: int) -> FreshRuns:
        return FreshRuns([CandidateResult(BOOM, AgentNotes(), SIGNATURE, compiled=True)] * runs, None)

    setting = "import torch._functorch.config\ntorch._functorch.config.activation_memory_budget = 0.4\n"
    attempts = [
        Attempt(Ends(setting, 20, "the captured graph"), ORACLE),
        Attempt(Ends("x\n", 5, "text"), ORACLE, of_text=True),
    ]
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), tmp_path)
    found, _ = chosen(problem, attempts, verify, emit=heard)
    assert asked == ["the captured graph"] and found.verified


def test_a_reduction_is_told_before_it_is_verified(tmp_path: Path) -> None:
    problem = Problem(SIGNATURE, Stage.DYNAMO, "eager", None, (), tmp_path)
    order: list[str] = []

    def verify(source: str, runs: int) -> FreshRuns:
        order.append("verified")
        return FreshRuns([CandidateResult(BOOM, AgentNotes(), SIGNATURE, compiled=True)] * runs)

    attempts = [Attempt(Finds(), ORACLE)]
    chosen(problem, attempts, verify, news=lambda reduction: order.append(reduction.source))
    assert order == ["raise KeyError('boom')\n", "verified"]


@pytest.mark.parametrize("failing_runs", [3, 2])
def test_a_run_that_is_gone_on_with_verifies_anew_only_what_did_not_hold(tmp_path: Path, failing_runs: int) -> None:
    failing = CandidateResult(BOOM, AgentNotes(), SIGNATURE, compiled=True)
    passing = CandidateResult(Outcome(OutcomeKind.OK, 0.1, 0), AgentNotes(), None, compiled=True)
    asked: list[str] = []

    def verify(source: str, runs: int) -> FreshRuns:
        asked.append(source)
        return FreshRuns([failing] * failing_runs + [passing] * (runs - failing_runs))

    def gone_on_with(emit: Emitter, verified: Mapping[str, Any]) -> Reproduced | None:
        assert SIGNATURE is not None
        problem = Problem(SIGNATURE, Stage.DYNAMO, "eager", None, (), tmp_path, verified=verified)
        attempts = [Attempt(Finds(), ORACLE)]
        return chosen(problem, attempts, verify, emit=emit)[0]

    emit = Emitter(Journal(tmp_path / "journal.jsonl"))
    emit("run_started", command=["train.py"], python="/p", cwd=tmp_path, settings={})
    first = gone_on_with(emit, {})
    second = gone_on_with(emit, earlier_run(tmp_path).verified)
    assert first == second and (first is not None and first.verified_runs == 3) == (failing_runs == 3)
    assert len(asked) == (1 if failing_runs == 3 else 2)


class FindsMany(Finds):
    """A text of one line, and larger ones of 2 to 30 lines."""

    def reduce(self, *_: Any) -> Reduction:
        small = super().reduce()
        return replace(small, source=lines(1), larger=tuple(replace(small, source=lines(n)) for n in range(2, 31)))


def lines(count: int) -> str:
    return "x\n" * count


@pytest.mark.parametrize(("least", "shown"), [(2, 2), (3, 3), (5, 5), (6, 6), (9, 9), (25, 25), (30, 30), (40, None)])
def test_among_many_larger_ones_the_smallest_that_holds_is_found_in_few_tries(least: int, shown: int | None) -> None:
    asked: dict[str, int] = defaultdict(int)

    def verify(source: str, runs: int) -> FreshRuns:
        asked[source] += runs
        return FreshRuns([FAILS if len(source) >= len(lines(least)) else PASSES] * runs)

    problem = Problem(SIGNATURE, Stage.DYNAMO, "eager", None, (), Path())
    found, notes = chosen(problem, [FindsMany()], verify)
    assert len(asked) <= 1 + MOST_LARGER
    first, *others = asked.items()
    assert first[1] == 3 and all(runs == (3 if len(text) >= len(lines(least)) else 1) for text, runs in others)
    if shown is None:
        assert found is None and "0 of 3 fresh processes" in notes[0]
    else:
        assert found.verified and shown <= found.lines <= shown + 5


class GaveUp(Finds):
    """An engine that an interrupt ended before it had anything."""

    def reduce(self, *_: Any) -> NoReduction:
        return NoReduction("interrupted", interrupted=True)


@pytest.mark.parametrize("interrupted_in", ["the next engine", "the verification of the script"])
def test_what_failed_each_time_is_kept_at_an_interrupt_also_where_it_fails_below_too(interrupted_in: str) -> None:
    problem = Problem(SIGNATURE, Stage.INDUCTOR, "inductor", None, (), Path(), passing="aot_eager")

    def verify(source: str, runs: int) -> FreshRuns:
        if source == "the script\n":
            raise KeyboardInterrupt
        return FreshRuns([FAILS] * runs, FAILS)

    engines = [Finds(), GaveUp()] if interrupted_in == "the next engine" else [Finds()]
    with pytest.raises(InterruptedReductionError) as caught:
        chosen(problem, engines, verify, runner=Passing(), script="the script\n")
    best = caught.value.best
    assert best.source == "raise KeyError('boom')\n"
    assert (best.verified, best.verified_runs) == (False, 3)
    assert "It failed the same way in 3 of 3 fresh processes, but fails with `aot_eager` too." in best.notes
