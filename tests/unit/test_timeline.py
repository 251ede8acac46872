"""What ran when, as the journal tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from triage.cli.view import plain_line
from triage.report.timeline import MOST_ROWS, Span, spans_of, timeline
from triage.session.events import Event


def journal(folder: Path, *events: dict[str, Any]) -> Path:
    file = folder / "journal.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return folder


def at(time: float, kind: str, **facts: Any) -> dict[str, Any]:
    return {"t": 1000.0 + time, "kind": kind, **facts}


def probe(name: str, start: float, end: float, outcome: str, rung: str = "") -> list[dict[str, Any]]:
    rung = rung or name
    return [
        at(start, "probe_started", name=name, rung=rung, timeout=300),
        at(
            end,
            "probe_ended",
            name=name,
            rung="inductor" if name == "as_is" else rung,
            outcome=outcome,
            seconds=end - start,
        ),
    ]


def test_a_run_is_told_in_the_order_in_which_things_began(tmp_path: Path) -> None:
    uncompiled, eager = probe("uncompiled", 6, 9, "ok"), probe("eager", 6.5, 8, "ok")
    run = journal(
        tmp_path,
        at(0, "run_started"),
        *probe("as_is", 0, 5, "exception"),
        *probe("as_is-compared", 5, 5.5, "wrong_result", rung="as_is"),
        *sorted([*uncompiled, *eager], key=lambda event: event["t"]),
        at(9.5, "probe_ended", name="graph-inductor", rung="inductor", outcome="wrong_result", seconds=0.5),
        at(10, "engine_started", engine="native"),
        at(11, "query", number=1),
        at(12, "query", number=2),
        at(13, "reproducer_found"),
        at(14, "verify_started", runs=3),
        at(20, "verify_ended", runs=3, same=2),
        at(20, "step_started", step="ablate"),
        at(21, "step_ended", step="ablate"),
    )
    assert spans_of(run) == (
        Span("as it is", 0, 5, "bad", "exception"),
        Span("as it is, compared with eager", 5, 5.5, "bad", "wrong result"),
        Span("uncompiled", 6, 9, "ok", "passes"),
        Span("eager", 6.5, 8, "ok", "passes"),
        Span("inductor, the graph alone", 9, 9.5, "bad", "wrong result"),
        Span("reducing", 10, 13, "", "2 candidates"),
        Span("fresh processes", 14, 20, "", "2 of 3 the same failure"),
        Span("other settings", 20, 21, "", ""),
    )


def test_a_verification_that_came_to_nothing_is_none(tmp_path: Path) -> None:
    ends = at(9, "verify_ended", runs=0, same=0)
    run = journal(tmp_path, at(0, "run_started"), at(5, "verify_started", runs=3), ends)
    assert spans_of(run) == (Span("fresh processes", 5, 9, "", "not ended"),)
    told = plain_line(Event("verify_ended", {"runs": 0, "same": 0}))
    assert told == "not verified: no fresh process ran it to an end"


def test_a_run_of_which_is_told_later_ended_when_it_did(tmp_path: Path) -> None:
    """It began beside the first one, and what it means is known once that has failed."""
    ran = probe("uncompiled", 2, 20, "ok")
    run = journal(
        tmp_path,
        at(0, "run_started"),
        at(0, "probe_started", name="as_is", rung="as_is"),
        ran[0],
        at(6, "probe_facts", probe={"name": "uncompiled", "rung": "uncompiled"}),
        at(20, "probe_ended", name="as_is", rung="inductor", outcome="exception", seconds=20),
        ran[1],
    )
    assert [(span.name, span.start, span.end) for span in spans_of(run)] == [("as it is", 0, 20), ("uncompiled", 2, 6)]


def test_the_hours_before_a_run_was_gone_on_with_are_left_out(tmp_path: Path) -> None:
    began = at(5, "probe_started", name="eager", rung="eager")
    again = [{**event, "t": event["t"] + 90_000} for event in (at(0, "run_started"), *probe("inductor", 1, 3, "hang"))]
    run = journal(tmp_path, at(0, "run_started"), *probe("as_is", 0, 4, "hang"), began, at(6, "query"), *again)
    assert [(span.name, span.start, span.end, span.told) for span in spans_of(run)] == [
        ("as it is", 0, 4, "hang"),
        ("eager", 5, 6, "not ended"),
        ("inductor", 7, 9, "hang"),
    ]


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    run = journal(tmp_path, at(0, "run_started"), *probe("as_is", 0, 4, "ok"))
    with (run / "journal.jsonl").open("a", encoding="utf-8") as torn:
        torn.write('{"t": 1009.0, "kind": "probe_started", "na')
    assert [span.name for span in spans_of(run)] == ["as it is"]
    assert spans_of(tmp_path / "gone.jsonl") == ()


def test_of_many_the_longest_are_drawn(tmp_path: Path) -> None:
    runs = [
        event
        for number in range(100)
        for event in probe(f"run {number}", number * 200, number * 200 + number + 1, "ok")
    ]
    found = spans_of(journal(tmp_path, at(0, "run_started"), *runs))
    assert [span.name for span in found] == [f"run {number}" for number in range(100 - MOST_ROWS, 100)]


def test_a_bar_stands_where_its_time_is() -> None:
    drawn = timeline((Span("a", 0, 5, "ok", "passes"), Span("b", 5, 10, "bad", "exception")))
    first, second = drawn["rows"]
    assert (first["x"], first["width"]) == (190.0, 165.0)
    assert (second["x"], second["width"], second["words"]) == (355.0, 165.0, "5.0 s, exception")
    assert drawn["told"] == "a, 0.0 to 5.0 s: passes; b, 5.0 to 10.0 s: exception"
    assert timeline((Span("a", 0, 5),)) == {}


def test_a_run_that_was_cut_is_neither_good_nor_bad(tmp_path: Path) -> None:
    begun, ended = probe("way-call-1", 0, 60, "hang", rung="with a call uncompiled")
    told = spans_of(journal(tmp_path, at(0, "run_started"), begun, {**ended, "cut": True}))
    assert told == (Span("with a call uncompiled", 0, 60, "", "not ended"),)
