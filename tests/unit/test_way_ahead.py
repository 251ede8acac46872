"""The first way round, begun before its turn: it waits at its first compiled call, goes on when told, and is ended otherwise."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triage.agent import boot
from triage.culprit.ways_round.changes import Change
from triage.model.outcome import AgentNotes, Outcome
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import GO_FILE, go_on
from triage.stories import ways_round
from triage.stories.way_ahead import WayAhead
from triage.stories.ways_judged import has_few_calls
from triage.stories.ways_planned import name_of
from triage.stories.ways_round import _Trials

boot.load_agent()
held = importlib.import_module(f"{boot.PACKAGE}.hooks.held")

CHANGE = Change("call", "leave it uncompiled", None, {Path("train.py"): b"b"}, {Path("train.py"): b"a"})
PASSED: Any = SimpleNamespace(outcome=Outcome(OutcomeKind.OK), cancelled=False)
FAILED: Any = SimpleNamespace(outcome=Outcome(OutcomeKind.EXCEPTION), cancelled=False)


def test_a_program_waits_at_its_first_call_until_it_is_told_and_at_no_other(tmp_path: Path) -> None:
    waits, waited = held.Held(SimpleNamespace(directory=str(tmp_path)), GO_FILE), []
    thread = threading.Thread(target=lambda: waited.append(waits.reached()), daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive() and not waited
    go_on(tmp_path)
    thread.join(10)
    (tmp_path / GO_FILE).unlink()
    assert waited[0] >= 0.1 and waits.reached() < 0.1


@pytest.mark.parametrize("early", [True, False], ids=["told before its channel is there", "told while it waits"])
def test_it_goes_on_once_its_answer_is_wanted(tmp_path: Path, early: bool) -> None:
    wanted, began = threading.Event(), threading.Event()

    def run(cancel: Cancel, begun: Any) -> Any:
        if early:
            assert wanted.wait(10)
        begun(tmp_path)
        began.set()
        while not (tmp_path / GO_FILE).exists():
            assert not cancel.is_set()
        return PASSED

    ahead = WayAhead("way-call-1", run, Cancel())
    assert early or began.wait(10)
    assert not (tmp_path / GO_FILE).exists()
    threading.Timer(0.1, wanted.set).start()
    assert ahead.result() is PASSED


def test_what_is_not_wanted_is_ended_and_waited_for(tmp_path: Path) -> None:
    ended: list[bool] = []

    def run(cancel: Cancel, begun: Any) -> Any:
        begun(tmp_path)
        while not cancel.is_set():
            pass
        ended.append(True)
        return PASSED

    WayAhead("way-call-1", run, Cancel()).drop()
    assert ended == [True] and not (tmp_path / GO_FILE).exists()


def trials_of(ahead: WayAhead | None, asked: list[str]) -> Any:
    def ask(rung: object, name: str, *rest: object, **how: object) -> Any:
        asked.append(name)
        return PASSED

    trials: Any = object.__new__(_Trials)
    trials._expected = ()
    trials.walk = SimpleNamespace(ask_changed=ask, announce=lambda *_, **__: None)
    trials.found = SimpleNamespace(way_ahead=ahead, session=SimpleNamespace(emit=lambda *_, **__: None))
    trials._comparison = None
    trials._limit = trials._enough = lambda: 60.0
    trials._may_run = lambda: True
    return trials


@pytest.mark.parametrize(
    ("probe", "otherwise", "asked"),
    [(PASSED, True, []), (FAILED, False, []), (FAILED, True, ["-alone"])],
    ids=["it passes", "it fails as the script does", "what ran beside it may have made it fail"],
)
def test_its_answer_is_taken_where_nothing_beside_it_may_have_been_in_its_way(
    probe: Any, otherwise: bool, asked: list[str]
) -> None:
    names = list[str]()
    trials = trials_of(WayAhead(name_of(CHANGE), lambda cancel, begun: probe, Cancel()), names)
    trials._fails_otherwise = lambda probe: otherwise
    assert trials._asked(CHANGE) is (PASSED if asked else probe)
    assert names == [name_of(CHANGE) + each for each in asked] and trials.found.way_ahead is None


@pytest.mark.parametrize(
    ("otherwise", "begins"),
    [
        ({}, True),
        ({"symptom": Symptom.HANG}, False),
        ({"symptom": Symptom.WRONG_RESULT}, False),  # what is asked of it may tell of another operation
        ({"jobs": 1}, False),
        ({"device_share": 0.1}, False),
        ({"is_confirmed": False}, False),
        ({"spoiled": PASSED}, False),
        ({"operators": ("shop::scale",)}, False),  # the script is run to check them
    ],
)
def test_it_begins_where_no_other_run_of_the_script_is_to_come(
    monkeypatch: pytest.MonkeyPatch, otherwise: dict[str, Any], begins: bool
) -> None:
    facts = {"symptom": Symptom.EXCEPTION, "jobs": 2, "device_share": 0.0, "is_confirmed": True, "spoiled": None}
    facts = {**facts, "operators": (), **otherwise}
    walk = SimpleNamespace(
        conclusion=lambda: SimpleNamespace(symptom=facts["symptom"]),
        spoiled=facts["spoiled"],
        jobs=lambda: facts["jobs"],
        is_confirmed=lambda: facts["is_confirmed"],
        start=SimpleNamespace(notes=SimpleNamespace(device_share=facts["device_share"])),
    )
    found: Any = SimpleNamespace(walk=walk, way_ahead=None, drop_way_ahead=lambda: None)
    monkeypatch.setattr(ways_round, "worth_trying", lambda found: True)
    monkeypatch.setattr(ways_round, "custom_operators", lambda found: facts["operators"])
    monkeypatch.setattr(ways_round, "_Trials", lambda *_: SimpleNamespace(begun=lambda: "begun"))
    ways_round.begin_ways_round(found)
    assert (found.way_ahead == "begun") is begins


def trials_to_begin(monkeypatch: pytest.MonkeyPatch, calls: int, asked: list[dict[str, Any]]) -> Any:
    def ask(rung: object, name: str, *rest: object, **how: object) -> Any:
        asked.append(how)
        return PASSED

    monkeypatch.setattr(ways_round, "Files", lambda found: None)
    monkeypatch.setattr(ways_round, "program_of", lambda found, files: None)
    monkeypatch.setattr(ways_round, "plan", lambda *_, **__: [CHANGE])
    trials = trials_of(None, [])
    trials.conclusion = None
    trials.walk.ask_changed, trials.walk.seen = ask, {UNCOMPILED.name: [ran(calls)]}
    trials.found.session.cancel = Cancel()
    return trials


def ran(calls: int, kind: OutcomeKind = OutcomeKind.OK, *, early: bool = False, on: str = "script") -> Any:
    notes = AgentNotes(calls=calls, stopped_early=early)
    return SimpleNamespace(outcome=Outcome(kind), notes=notes, on=on)


def test_what_will_not_be_measured_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for calls, waits in ((1, False), (2, False), (3, True)):
        asked = list[dict[str, Any]]()
        trials = trials_to_begin(monkeypatch, calls, asked)
        assert trials.begun().result() is PASSED
        assert (asked[0]["held"] is not None) is waits


@pytest.mark.parametrize(
    ("seen", "few"),
    [
        ([ran(2)], True),
        ([ran(3)], False),
        ([ran(0)], False),  # nobody knows of how many
        ([ran(2, early=True)], False),
        ([ran(2, on="graph")], False),
        ([ran(2, OutcomeKind.EXCEPTION)], False),
        ([], False),
    ],
)
def test_few_calls_are_those_of_a_run_that_came_to_its_end(seen: list[Any], few: bool) -> None:
    assert has_few_calls({UNCOMPILED.name: seen}) is few


def test_one_whose_turn_came_too_late_is_run_again() -> None:
    late: Any = SimpleNamespace(outcome=Outcome(OutcomeKind.HANG), cancelled=False)
    for told, asked in ((False, ["-alone"]), (True, [])):
        may_end = threading.Event()

        def run(cancel: Cancel, begun: Any, may_end: threading.Event = may_end) -> Any:
            assert may_end.wait(10)
            return late

        ahead, names = WayAhead(name_of(CHANGE), run, Cancel()), list[str]()
        trials = trials_of(ahead, names)
        trials._fails_otherwise = lambda probe: False
        if told:
            threading.Timer(0.2, may_end.set).start()
        else:
            may_end.set()
            ahead._thread.join(10)
        assert trials._asked(CHANGE) is (PASSED if asked else late)
        assert names == [name_of(CHANGE) + each for each in asked]


def test_of_another_change_nothing_is_taken() -> None:
    names = list[str]()
    trials = trials_of(None, names)
    trials._asked(CHANGE)
    assert names == [name_of(CHANGE)]
