"""The table that is shown while a run goes on: a row per rung, also of runs that began before the rungs were known."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from triage.cli import view
from triage.cli.view import _cells, _plain, _State, plain_line
from triage.model.outcome import AgentNotes, Outcome
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe
from triage.session.events import Emitter, Event


def words(state: _State, rung: str) -> list[str]:
    return [str(cell) for cell in _cells(rung, state.rows[rung])][:3]


def test_what_runs_beside_the_first_run_keeps_its_row_and_ends_when_it_ends() -> None:
    state = _State()
    emit = Emitter(state.listen)  # which encodes what it is given, as in a run
    for rung in ("as_is", "uncompiled"):
        emit("probe_started", rung=rung, name=rung, timeout=300.0)
    assert words(state, "uncompiled")[1] == "running"
    outcome = Outcome(OutcomeKind.OK, 3.0, 0)
    for name in ("uncompiled", "uncompiled-other-random"):  # a run for another question says nothing of the rung
        probe = Probe(name, "uncompiled", outcome, None, AgentNotes(), Path("x"))
        emit("probe_facts", probe=probe)
        outcome = Outcome(OutcomeKind.EXCEPTION, 9.0, 1)
    assert words(state, "uncompiled") == ["uncompiled", "passes", "3.0 s"]
    emit("ladder", rungs=["uncompiled", "inductor"], top="inductor")
    assert words(state, "uncompiled") == ["uncompiled", "passes", "3.0 s"] and words(state, "inductor")[1] == "running"


def test_a_run_for_another_question_ends_when_it_ends() -> None:
    state = _State()
    emit = Emitter(state.listen)
    emit("probe_started", rung="uncompiled", name="uncompiled", timeout=300.0)
    ran = Probe("uncompiled", "uncompiled", Outcome(OutcomeKind.OK, 3.0, 0), None, AgentNotes(), Path("x"))
    emit("probe_facts", probe=ran)
    emit("probe_started", rung="uncompiled", name="uncompiled-other-random", timeout=300.0)
    assert words(state, "uncompiled")[1] == "running"
    emit("probe_facts", probe=replace(ran, name="uncompiled-other-random"))
    assert words(state, "uncompiled") == ["uncompiled", "passes", "3.0 s"]


def test_one_that_nobody_asks_for_any_more_is_not_running() -> None:
    state = _State()
    emit = Emitter(state.listen)  # which encodes what it is given, as in a run
    emit("probe_started", rung="uncompiled", name="uncompiled", timeout=300.0)
    emit("probe_cancelled", rung="uncompiled", name="uncompiled")
    assert words(state, "uncompiled")[1] == "·"


def test_a_run_that_only_the_journal_hears_the_end_of_is_not_waited_for_any_more() -> None:
    state = _State()
    emit = Emitter(state.listen)  # which encodes what it is given, as in a run
    emit("ladder", rungs=["uncompiled", "inductor"], top="inductor")
    emit("probe_started", rung="as_is", name="as_is-again", timeout=300.0)
    emit("probe_started", rung="inductor", name="inductor", timeout=300.0)
    again = Probe("as_is-again", None, Outcome(OutcomeKind.OK, 20.7, 0), None, AgentNotes(), Path("x"))
    emit("probe_facts", probe=again)
    assert "as_is" not in state.waits_for()
    assert "inductor, for" in state.waits_for()


def test_a_run_that_a_busy_machine_is_given_more_for_is_not_told_to_be_over_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(view.time, "monotonic", lambda: now)
    state = _State()
    emit = Emitter(state.listen)
    emit("probe_started", rung="inductor", name="inductor", timeout=60.0)
    now = 150.0
    assert state.waits_for().endswith("inductor, for 50 s (limit 60 s)")
    now = 190.0
    assert state.waits_for().endswith("inductor, for 90 s (limit 60 s, more as the machine is busy)")
    assert str(_cells("inductor", state.rows["inductor"])[3]) == "limit 60 s, more as the machine is busy"


def query(number: int) -> Event:
    facts = {"phase": "one file", "verdict": "no_failure", "reason": "passes", "seconds": 45.6, "left": None}
    return Event("query", {"number": number, **facts})


def test_what_is_asked_of_the_reproducer_is_told_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(view.time, "monotonic", lambda: now)
    rows = [("dynamic=None", "same_failure"), ("dynamic=True", "ok")]
    with _plain(plain_line) as listen:
        listen(Event("step_started", {"step": "ablate"}))
        for setting, outcome in rows:
            now += 9.0
            listen(Event("ablated", {"setting": setting, "outcome": outcome, "seconds": 8.5}))
        now += 16.0
        listen(Event("part_asked", {"part": "lowerings", "outcome": "same_failure", "seconds": 15.0}))
        listen(Event("step_started", {"step": "capture"}))
        listen(Event("step_started", {"step": "conditions"}))
    assert capsys.readouterr().err.splitlines() == [
        "[   0.0 s] trying settings on the reproducer, and parts of the compiler",
        "[  18.0 s] reproducer asked with dynamic=True: passes, 8.5 s",
        "[  34.0 s] reproducer asked for the guilty part (lowerings): same failure, 15.0 s",
        "[  34.0 s] asking what the failure needs",
    ]


def test_a_candidate_is_a_line_only_where_nothing_was_shown_for_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(view.time, "monotonic", lambda: now)
    with _plain(plain_line) as listen:
        listen(Event("engine_started", {"subject": "the program's text"}))
        for number, seconds in enumerate((1.0, 20.0, 5.0, 11.0), 1):
            now += seconds
            listen(query(number))
    assert capsys.readouterr().err.splitlines() == [
        "[   0.0 s] reducing the program's text",
        "[  21.0 s] candidate 2 (one file): passes, 45.6 s",
        "[  37.0 s] candidate 4 (one file): passes, 45.6 s",
    ]


def test_who_reads_lines_hears_what_is_waited_for_where_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now, beats = 100.0, []
    monkeypatch.setattr(view.time, "monotonic", lambda: now)
    monkeypatch.setattr(view, "beating", lambda beat: beats.append(beat) or nullcontext())
    with _plain(plain_line, _State()) as listen:

        def after(seconds: float) -> str:
            nonlocal now
            capsys.readouterr()
            now += seconds
            beats[0]()
            return capsys.readouterr().err.strip()

        listen(Event("step_started", {"step": "script"}))
        listen(Event("probe_started", {"rung": "as_is", "name": "as_is", "timeout": 300.0}))
        assert after(29.0) == ""
        assert after(2.0).endswith("still running the script as it is: as_is, for 31 s (limit 300 s)")
        assert after(10.0) == "", "one has just been said"
        listen(Event("probe_cancelled", {"rung": "as_is", "name": "as_is"}))
        listen(Event("step_started", {"step": "reduce"}))
        listen(Event("asking", {"phase": "whole", "timeout": 60.0}))
        assert after(40.0).endswith("still reducing: a candidate has run for 40 s (limit 60 s)")
        listen(query(1))
        listen(Event("verify_started", {"runs": 3}))
        assert after(31.0).endswith("still reducing: verifying in 3 fresh processes")
