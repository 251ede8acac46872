"""The ladder on the graph: when its answers are taken, what the script must confirm, and what happens where it does not."""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from walk_machine import RUNGS, Machine, error, walk_of

from triage.judge.comparison import ComparisonOracle
from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.locate.walk import Walk
from triage.model import accuracy
from triage.model.accuracy import WrongResult
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, OwnFault, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.stories import graph_ladder, locating
from triage.stories.findings import Findings

Make = Callable[..., Walk]


@pytest.fixture
def walk(tmp_path: Path) -> Make:
    return walk_of(tmp_path)


def told(lowest: int, failure: RaisedException | None = None) -> dict[str, Probe]:
    """What a graph does that fails from this rung on."""
    answers = {}
    for number, rung in enumerate(RUNGS):
        outcome = Outcome(OutcomeKind.OK, 0.2, 0)
        if number >= lowest:
            outcome = Outcome(OutcomeKind.EXCEPTION, 0.2, 1, exception=failure or error())
        answers[rung] = Probe(
            f"graph-{rung}", rung, outcome, signature_of(outcome), AgentNotes(), Path("x"), on="graph"
        )
    return answers


def fails_from(lowest: int) -> Machine:
    return Machine({rung: itertools.repeat(error(RUNGS[4])) for rung in RUNGS[lowest:]})


def begun(made: Walk) -> Walk:
    made.first()
    made.confirm_beside()
    return made


def test_the_script_is_run_uncompiled_and_below_the_boundary_only(walk: Make) -> None:
    machine = fails_from(4)
    found = begun(walk(machine, jobs=2))
    assert found.heard_of_graph(told(4))
    conclusion = found.conclusion()
    assert conclusion.settled and conclusion.stage is Stage.INDUCTOR
    assert found.confirmed()
    assert sorted(machine.visited()) == ["aot_eager_decomp_partition", "as_is", "uncompiled"]
    conclusion = found.conclusion()
    assert (
        conclusion.settled and conclusion.stage is Stage.INDUCTOR and (conclusion.runs, conclusion.failures) == (2, 2)
    )


def test_one_process_at_a_time_confirms_in_the_end(walk: Make) -> None:
    machine = fails_from(4)
    found = begun(walk(machine, jobs=1))
    assert found.heard_of_graph(told(4)) and machine.visited() == ["as_is"]
    assert not found.is_confirmed()
    assert found.confirmed() and found.is_confirmed()
    assert machine.visited() == ["as_is", "uncompiled", "aot_eager_decomp_partition"]


def test_it_is_confirmed_by_what_has_run_beside_alone(walk: Make) -> None:
    found = begun(walk(fails_from(4), jobs=2))
    assert found.heard_of_graph(told(4))
    found._beside.join()
    assert found.is_confirmed()
    found._crowded.append((found.own_rung, found.start))  # to be asked again, alone
    assert not found.is_confirmed()
    otherwise = begun(walk(fails_from(1), jobs=2))
    if otherwise.heard_of_graph(told(4)):
        otherwise._beside.join()
        assert not otherwise.is_confirmed()


def test_a_boundary_that_was_not_suspected_is_confirmed_too(walk: Make) -> None:
    machine = fails_from(2)
    found = begun(walk(machine, jobs=2))
    found._beside.join()
    assert found.heard_of_graph(told(2))
    assert found.conclusion().stage is Stage.AOT_AUTOGRAD
    assert found.confirmed()
    assert "eager" in machine.visited() and "aot_eager" not in machine.visited()
    assert found.conclusion().stage is Stage.AOT_AUTOGRAD


@pytest.mark.parametrize("lowest", [1, 2, 3])
def test_where_the_script_fails_on_a_rung_that_its_graph_passes_the_script_decides(walk: Make, lowest: int) -> None:
    machine = fails_from(lowest)
    found = begun(walk(machine, jobs=2))
    if found.heard_of_graph(told(4)):
        assert not found.confirmed()
    assert found.on_graph == {}
    conclusion = found.settle()
    assert conclusion.failing.name == RUNGS[lowest]


def test_a_run_beside_that_other_work_was_in_the_way_of_is_asked_again_alone(walk: Make) -> None:
    """A check of the graphs runs the script too, on the same port: that uncompiled run says nothing."""
    machine = fails_from(4)
    machine.turns["uncompiled"] = itertools.chain([error("eager", "in use", "uncaught")], itertools.repeat(None))
    found, working = walk(machine, jobs=2), threading.Event()

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        assert request.name != "uncompiled-alone" or not working.is_set(), "not alone"
        return machine(request, cancel)

    found.probe = probe
    found.first()
    working.set()
    found.confirm_beside()
    limit = time.monotonic() + 10
    while not found._beside._groups[0].runs.done():
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert found.heard_of_graph(told(4)) and found.conclusion().stage is Stage.INDUCTOR
    working.clear()
    assert found.confirmed() and "uncompiled-alone" in machine.visited()
    assert [each.outcome.kind for each in found.seen["uncompiled"]] == [OutcomeKind.OK]
    assert found.conclusion().stage is Stage.INDUCTOR


def test_a_script_that_fails_uncompiled_is_its_own_culprit_whatever_its_graph_does(walk: Make) -> None:
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS})
    found = begun(walk(machine, jobs=2))
    assert not found.refuted
    if found.heard_of_graph(told(4)):
        found._beside.join()
        assert found.refuted and not found.confirmed()
    assert not found.refuted and found.settle().stage is Stage.SCRIPT
    assert set(machine.visited()) <= {
        "as_is",
        "uncompiled",
        "aot_eager_decomp_partition",
    }  # nothing more is to be known


@pytest.mark.parametrize("answers", [{}, told(0), told(5)])
def test_a_graph_that_tells_nothing_is_not_believed(walk: Make, answers: dict[str, Probe]) -> None:
    found = begun(walk(fails_from(4), jobs=2))
    assert not found.heard_of_graph(answers)
    assert found.confirmed() and found.settle().stage is Stage.INDUCTOR
    assert set(found.seen) == set(RUNGS)  # the script's whole ladder, as ever


def test_a_rung_that_passes_above_one_that_fails_is_left_to_the_script(walk: Make) -> None:
    answers = told(2)
    answers["aot_eager_decomp_partition"] = told(5)["aot_eager_decomp_partition"]
    assert not begun(walk(fails_from(4), jobs=2)).heard_of_graph(answers)


CHECK = RaisedException("AssertionError", "eager: 1, compiled: 2", (Frame("repro.py", 9, "<module>"),))
FAILS_ITS_CHECK = Outcome(OutcomeKind.EXCEPTION, 0.3, 1, exception=CHECK)
WRONG = WrongResult("0/0", 1, "output 0", "forward")


@pytest.mark.parametrize(
    ("outcome", "notes", "kind"),
    [
        (FAILS_ITS_CHECK, AgentNotes(compared=1), OutcomeKind.OK),  # rounding alone: its own check is finer
        (FAILS_ITS_CHECK, AgentNotes(compared=1, wrongs=(WRONG,)), OutcomeKind.WRONG_RESULT),
        (FAILS_ITS_CHECK, AgentNotes(compared=1, by_chance=("output 0",)), None),
        (FAILS_ITS_CHECK, AgentNotes(compared=1, wrongs=(replace(WRONG, kind="dtype"),)), OutcomeKind.EXCEPTION),
        (Outcome(OutcomeKind.OK, 0.3, 0), AgentNotes(compared=1), OutcomeKind.OK),
        (Outcome(OutcomeKind.INVALID, 0.3, 1), AgentNotes(), None),
    ],
)
def test_a_rung_is_answered_by_the_judge_and_not_by_the_check_in_the_graphs_script(
    outcome: Outcome, notes: AgentNotes, kind: OutcomeKind | None
) -> None:
    whole = Outcome(OutcomeKind.WRONG_RESULT, exception=RaisedException("WrongResult", "", phase=accuracy.PHASE))
    signature = replace(signature_of(whole), wrong=WRONG.wrongness)
    conclusion = Conclusion(Stage.INDUCTOR, Symptom.WRONG_RESULT, signature=signature, outcome=whole)
    result = CandidateResult(outcome, notes, signature_of(outcome), compiled=True)
    answer = graph_ladder._answer(LADDER[3], result, ComparisonOracle(signature), conclusion)
    assert (answer.outcome.kind if answer is not None else None) is kind
    assert answer is None or (answer.signature is None) == (kind is OutcomeKind.OK)


class Comparing:
    """Stands in for the runner of candidates."""

    settings: str | None = "of a graph"

    def compare(self, accuracy: str | None) -> None:
        self.settings = accuracy


def findings_of(walk: Walk) -> Findings:
    found = Findings(walk.session, walk.target, (), walk, cases=(GraphCase("dynamo", (), (), ()),), capture_note="one")
    found.runner = Comparing()
    return found


def test_what_is_forgotten_is_as_it_was_before_it_was_found(walk: Make) -> None:
    at = walk(fails_from(4), jobs=2)
    found, fresh = Findings(at.session, at.target, (), at), Findings(at.session, at.target, (), at)
    kept = {
        "session",
        "target",
        "command",
        "walk",
        "environment",
        "passing_graphs",
        "silent",
        "given_up",
        "notes",
        "incomplete",
        "bug",
        "trace_work",
        "runner",
    }
    for each in fields(Findings):
        if each.name not in kept:
            setattr(found, each.name, "found")
    ended: list[bool] = []
    way: Any = SimpleNamespace(drop=lambda: ended.append(True))
    found.way_ahead = way
    found.notes.append("kept")
    found.forget()
    assert found == replace(fresh, notes=["kept"]) and ended == [True]


@pytest.mark.parametrize(("kind", "asked"), [("exception", True), ("wrong_result", False)])
def test_the_graph_of_one_rank_is_asked_for_what_that_raises(walk: Make, kind: str, asked: bool) -> None:
    """The script of several ranks can only be run once at a time, and that takes long."""
    machine = fails_from(4)
    found = findings_of(walk(machine))
    first = found.walk.first()
    outcome = replace(first.outcome, kind=OutcomeKind(kind))
    notes = replace(first.notes, distributed=True)
    found.walk.seen["inductor"] = [replace(first, outcome=outcome, notes=notes, graphs=(Path("graph"),))]
    assert graph_ladder.worth_asking(found) == asked


def test_nothing_is_left_of_graphs_that_tell_nothing(walk: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings_of(walk(fails_from(4), jobs=2))
    found.walk.first()
    monkeypatch.setattr(graph_ladder, "_answers", lambda found: {})
    assert not graph_ladder.asked(found)
    assert (found.cases, found.capture_note, found.graph_answer) == ((), None, None)


@pytest.mark.parametrize("also", [True, False])
def test_a_comparison_of_graphs_ends_where_the_script_fails_uncompiled_beside_it(
    walk: Make, monkeypatch: pytest.MonkeyPatch, also: bool
) -> None:
    check = RaisedException("AssertionError", "the loss is negative", error().frames[:0], phase="uncaught")
    machine = Machine({"inductor": itertools.repeat(check), "uncompiled": itertools.repeat(check if also else None)})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        limit = time.monotonic() + (10 if also else 0)
        while request.name == "inductor-compared" and cancel is not None and not cancel.is_set():
            if time.monotonic() >= limit:
                break
            time.sleep(0.01)
        return machine(request, cancel)

    found = findings_of(walk(machine, jobs=2))
    found.walk.probe = probe
    found.walk.first()
    monkeypatch.setattr(graph_ladder, "_answers", lambda found: {})
    assert not graph_ladder.asked(found)
    assert (found.walk.checked_first is None) == also
    assert (found.walk.conclusion().own_fault is OwnFault.UNCOMPILED) == also


def test_what_the_program_handles_is_asked_of_its_graph_once_it_is_known_to_come_of_the_compiler(
    walk: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may handle what it meets uncompiled, too."""
    caught = replace(error(RUNGS[4]), swallowed=True)
    machine = Machine({rung: itertools.repeat(caught) for rung in RUNGS[4:]})
    found = findings_of(walk(machine, jobs=2))
    found.walk.seen["inductor"] = [replace(found.walk.first(), graphs=(Path("graph"),))]
    known = []

    def answers(found: Findings) -> dict[str, Probe]:
        known.append("uncompiled" in found.walk.seen)
        return told(4, caught)

    monkeypatch.setattr(graph_ladder, "_answers", answers)
    assert graph_ladder.worth_asking(found) and graph_ladder.asked(found)
    assert known == [True] and locating.agrees(found)
    assert sorted(machine.visited()) == ["aot_eager_decomp_partition", "as_is", "uncompiled"]
    assert found.walk.conclusion().stage is Stage.INDUCTOR


def test_nothing_is_left_of_graphs_that_the_script_disagrees_with(walk: Make) -> None:
    """Its check fails on Dynamo's rung; that its graph is wrong besides is another story."""
    found = findings_of(begun(walk(fails_from(1), jobs=1)))
    assert found.walk.heard_of_graph(told(4))
    found.walk.checked = found.walk.start
    assert not locating.agrees(found)
    assert found.walk.conclusion().stage is Stage.DYNAMO and found.cases == ()
    assert found.walk.checked is None and found.runner.settings is None


def test_what_runs_beside_is_ended(walk: Make) -> None:
    machine, entered = fails_from(4), threading.Event()

    def endless(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        probe = machine(request, cancel)
        if request.name == "as_is":
            return probe
        entered.set()
        limit = time.monotonic() + 20
        while cancel is not None and not cancel.is_set():
            assert time.monotonic() < limit, "nobody ended it"
            time.sleep(0.01)
        return replace(probe, cancelled=True)

    made = walk(machine, jobs=2)
    made.probe = endless
    begun(made)
    assert entered.wait(10)
    made.stop()
    assert set(made.seen) == {"inductor"} and not made.session.cancel.is_set()
