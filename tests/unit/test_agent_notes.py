"""What the agents of a run left behind: events, stacks, the order of graphs."""

import json
from pathlib import Path

from agent_events import event, outcome, raised

from triage.judge.signature import signature_of
from triage.model.stage import OutcomeKind
from triage.probe.events import read_events, read_stacks
from triage.probe.interpret import outcome_of
from triage.probe.launch import Exit
from triage.probe.notes import agent_notes, graph_order


def test_notes_sum_over_processes() -> None:
    notes = agent_notes(
        [
            event("start"),
            event("torch", version="2.13.0", python="3.11.2"),
            event(
                "compile_call",
                backend=None,
                mode="default",
                fullgraph=True,
                options=["epilogue_fusion"],
                name="f",
                where="x.py:3",
            ),
            raised(point={"calls": 4, "backwards": 2}),
            event("end", graphs=2, graph_breaks=1, recompiles=0),
            event("end", 11, graphs=1, graph_breaks=0, recompiles=3),
            event("graph_missing", graph="0/0", reason="opaque"),
        ]
    )
    assert (notes.started, notes.torch_version, notes.graphs, notes.graph_breaks, notes.recompiles) == (
        True,
        "2.13.0",
        3,
        1,
        3,
    )
    assert (notes.point.calls, notes.point.backwards) == (4, 2)
    assert notes.compile_calls[0].fullgraph and notes.compile_calls[0].options == ("epilogue_fusion",)
    assert notes.missing == ("graph 0/0: opaque",)


def test_events_of_a_killed_process_are_read_up_to_the_torn_line(tmp_path: Path) -> None:
    (tmp_path / "events-7.jsonl").write_text(
        json.dumps({"e": "start", "t": 2.0}) + "\n\nnull\n" + '{"e": "breadcrumb", "te'
    )
    (tmp_path / "events-8.jsonl").write_text(json.dumps({"e": "torch", "t": 1.0}) + "\n")
    assert [found["e"] for found in read_events(tmp_path)] == ["torch", "start"]
    assert read_events(tmp_path / "missing") == []


def test_what_a_program_does_when_it_is_told_to_end_is_not_its_failure(tmp_path: Path) -> None:
    ended = {**raised(at="uncaught", message="exit status 143"), "t": 121.0}
    said = [{"e": "start", "t": 1.0}, {"e": "breadcrumb", "text": "compile graph 0/0", "t": 2.0}, ended]
    (tmp_path / "events-7.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    done = Exit(143, 120.0, timed_out=True, late=True, told_at=120.5)
    found = outcome_of(done, agent_notes(read_events(tmp_path, until=done.told_at)), "", "")
    assert (found.kind, found.detail) == (OutcomeKind.HANG, "compile graph 0/0")


def test_a_byte_that_is_no_utf8_does_not_cost_the_report(tmp_path: Path) -> None:
    message = "caf" + b"\xe9".decode("utf-8", "surrogateescape") + " \N{GRINNING FACE}"
    (tmp_path / "events-1.jsonl").write_text(json.dumps(raised(at="uncaught", message=message)) + "\n")
    found = outcome(1, *read_events(tmp_path))
    signature = signature_of(found)
    assert signature.message == "caf? \N{GRINNING FACE}" and len(signature.fingerprint) == 16


def test_events_of_another_shape_are_passed_over() -> None:
    notes = agent_notes(
        [{"e": "raised"}, {"e": "raised", "exception": {"nonsense": 1}, "id": 1}, {"e": "compile_call"}, {}]
    )
    assert notes.raised == () and notes.compile_calls == ()


def test_stacks_of_all_processes(tmp_path: Path) -> None:
    (tmp_path / "fatal-7.txt").write_text("Fatal Python error: Segmentation fault\n")
    (tmp_path / "stacks-8.txt").write_text("")
    assert read_stacks(tmp_path) == "Fatal Python error: Segmentation fault"


def test_graphs_that_failed_come_first() -> None:
    events = [
        event("graph", file="a"),
        event("graph", file="b"),
        event("graph_failed", file="a"),
        event("graph", file=None),
    ]
    assert graph_order(events) == ["a", "b"]
    rounds = [{"e": "rounding", "result": {"item": "output 0", **file}} for file in ({}, {"file": ""}, {"file": "r"})]
    assert graph_order([*rounds, *events]) == ["a", "b", "r"]


def test_how_long_it_took_to_the_last_breadcrumb_is_told_from_the_first_use_of_torch_compile() -> None:
    crumb = {"e": "breadcrumb", "text": "inductor compiles forward graph 0/0", "t": 17.5}
    calls = [{"e": "compile_call", "t": 10.0}, {"e": "compile_call", "t": 12.0}]
    assert agent_notes([*calls, crumb]).reached == 7.5
    assert agent_notes([crumb]).reached is None and agent_notes(calls).reached is None
    assert agent_notes([*calls, {"e": "breadcrumb", "text": "run graph 0/0"}]).reached is None, "told by a dead process"
