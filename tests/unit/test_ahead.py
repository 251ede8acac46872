"""The uncompiled run beside that of the script as it is: when it begins, where it stops, when it counts for nothing."""

import itertools
import json
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import RUNGS, Machine, error, walk_of

from triage.cli.view import plain_line
from triage.locate.ahead import COMPILES, IN_INDUCTOR, _Events, may_be_in_the_way
from triage.locate.walk import Walk
from triage.model.outcome import CompileCall, Outcome
from triage.model.stage import OutcomeKind, OwnFault, Stage
from triage.probe.launch import Cancel
from triage.probe.run import STOP_FILE, Probe, ProbeRequest
from triage.session.events import Event
from triage.stories import graph_ladder
from triage.stories.assemble import assemble
from triage.stories.findings import Findings


class Compiling(Machine):
    """Whose run as it is calls torch.compile and waits, until another run has begun beside it or some time has passed."""

    def __init__(
        self,
        folder: Path,
        *given: object,
        alone: bool = True,
        waits: float = 5.0,
        phase: str = "compile",
        until: str = "uncompiled",
        **named: object,
    ) -> None:
        super().__init__(*given, **named)
        self.folder, self.alone, self.waits, self.phase, self.until = folder, alone, waits, phase, until
        self.beside = threading.Event()
        self.hold: Callable[[ProbeRequest, Cancel | None], None] = lambda request, cancel: None

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        if request.begun is not None:
            channel = self.folder / f"channel-{len(self.requests)}-{request.name}"
            channel.mkdir()
            request.begun(channel)
            if request.name == "as_is":
                told = {"alone": self.alone, "e": "compile_call"}
                crumb = {"text": f"{self.phase} forward graph 0/0", "e": "breadcrumb"}
                lines = [json.dumps(line) for line in ({"e": "start"}, told, crumb)]
                (channel / "events-1.jsonl").write_text("\n".join([*lines, '{"e": "torn']))
        if request.name == "as_is":
            self.beside.wait(self.waits)
            return super().__call__(request, cancel)
        if request.name == "uncompiled":
            self.hold(request, cancel)
        if request.name == self.until:
            self.beside.set()
        return super().__call__(request, cancel)


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Walk]:
    monkeypatch.setattr("triage.locate.ahead._has_room_beside", lambda pid: True)
    return walk_of(tmp_path)


def until_cancelled(told: list[bool]) -> Callable[[ProbeRequest, Cancel | None], None]:
    """A run that goes on until it is cancelled, and tells whether it was."""

    def hold(request: ProbeRequest, cancel: Cancel | None) -> None:
        assert cancel is not None
        end = time.monotonic() + 5
        while not cancel.is_set() and time.monotonic() < end:
            time.sleep(0.01)
        told.append(cancel.is_set())

    return hold


def fails(folder: Path, **named: object) -> Compiling:
    return Compiling(folder, {"inductor": itertools.repeat(error())}, **named)


def test_it_is_run_once_and_its_answer_is_the_rungs(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = fails(tmp_path)
    found = walk(machine, jobs=2)
    found.first()
    assert machine.beside.is_set() and "uncompiled" not in found.seen  # known, but told with its rung
    assert found.settle().stage is Stage.INDUCTOR
    assert machine.visited().count("uncompiled") == 1 and len(found.seen["uncompiled"]) == 1


def test_it_learns_where_the_script_failed_while_it_runs(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = fails(tmp_path)
    told: list[object] = []

    def hold(request: ProbeRequest, cancel: Cancel | None) -> None:
        file = next(tmp_path.glob("channel-*-uncompiled")) / STOP_FILE
        end = time.monotonic() + 5
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.01)
        told.append((request.stop_later, request.stop_after, json.loads(file.read_text())))

    machine.hold, machine.waits = hold, 1.0
    found = walk(machine, jobs=2)
    found.first()
    found.settle()
    assert told == [(True, None, {"calls": 3, "backwards": 2})]


@pytest.mark.parametrize("reason", ["one at a time", "not alone", "no core has time", "screened"])
def test_it_is_not_begun(walk: Callable[..., Walk], tmp_path: Path, reason: str) -> None:
    machine = fails(tmp_path, alone=reason != "not alone", waits=0.7)
    found = walk(machine, jobs=1 if reason == "one at a time" else 2)
    if reason == "no core has time":
        found.ready = lambda: False
    if reason == "screened":
        found.session.settings = replace(found.session.settings, screen=True)
    found.first()
    assert machine.visited() == ["as_is"]
    found.settle()
    assert "uncompiled" in machine.visited() and not machine.requests[1].stop_later


def test_nor_where_the_memory_has_no_room_for_two(
    walk: Callable[..., Walk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triage.locate.ahead._has_room_beside", lambda pid: False)
    machine = fails(tmp_path, waits=0.7)
    found = walk(machine, jobs=2)
    found.first()
    assert machine.visited() == ["as_is"]


def test_it_is_ended_where_the_script_passes(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = Compiling(tmp_path, {})
    ended: list[bool] = []

    machine.hold, machine.waits = until_cancelled(ended), 1.0
    found = walk(machine, jobs=2)
    found.first()
    found.stop()
    assert ended == [True] and "uncompiled" not in found.seen


def test_it_is_kept_for_a_wrong_result_where_it_has_ended(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = Compiling(tmp_path, {}, until="nothing", waits=1.0)
    found = walk(machine, jobs=2)
    found.first()
    found.visit([found.rungs[0]])
    assert machine.visited().count("uncompiled") == 1 and len(found.seen["uncompiled"]) == 1


def test_what_passed_beside_a_script_that_passes_is_in_the_table(walk: Callable[..., Walk], tmp_path: Path) -> None:
    found = walk(Compiling(tmp_path, {}), jobs=2)
    found.first()
    found._ahead["uncompiled"].join()
    found.settle()
    found.stop()
    rows = assemble(Findings(found.session, found.target, ("train.py",), found)).ladder
    assert [(row.rung, row.outcome) for row in (rows[0], rows[1])] == [("uncompiled", "ok"), ("eager", "not_run")]


def test_a_run_that_ended_while_it_was_looked_at_has_said_nothing_more(tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channel.mkdir()
    (channel / "events-7.jsonl").write_text('{"e": "compile_call", "alone": true}\n')
    events = _Events(channel)
    assert events.seen(COMPILES) == (7, {"e": "compile_call", "alone": True})
    shutil.rmtree(channel)
    assert events.seen(COMPILES) is not None and events.seen(IN_INDUCTOR) is None


def test_an_interrupt_ends_it(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = fails(tmp_path)
    ended: list[bool] = []

    machine.hold, machine.waits = until_cancelled(ended), 1.0
    found = walk(machine, jobs=2)
    found.first()
    found.stop()
    assert ended == [True] and not found.seen.get("uncompiled")


def test_a_port_that_is_in_use_is_asked_for_again_alone(walk: Callable[..., Walk], tmp_path: Path) -> None:
    """Two runs of the script collide, and it is the first that fails by it: alone it fails as it does."""
    busy = replace(error(message="[Errno 98] Address already in use", phase="uncaught"), type="OSError")
    machine = Compiling(tmp_path, {"inductor": [busy, *itertools.repeat(error(), 9)]})
    heard: list[Event] = []
    found = walk(machine, jobs=2, heard=heard)
    probe = found.first()
    told = [event.facts["text"] for event in heard if event.kind == "engine_step"]
    assert told == [
        "as_is met the run beside it, perhaps (OSError: [Errno 98] Address already in use): running it again, alone"
    ]
    assert probe.outcome.exception.message == "bad operand"
    conclusion = found.settle()
    assert conclusion.stage is Stage.INDUCTOR and machine.visited().count("as_is") == 2
    assert machine.visited().count("uncompiled") == 2  # the one beside counts for nothing either


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(OutcomeKind.EXCEPTION, exception=error()), False),
        (Outcome(OutcomeKind.EXCEPTION, exception=replace(error(phase="uncaught"), type="FileNotFoundError")), True),
        (Outcome(OutcomeKind.EXCEPTION, exception=error(phase="uncaught")), False),
        (Outcome(OutcomeKind.EXCEPTION, exception=error(message="database is locked", phase="uncaught")), True),
        # One reads a checkpoint, or its own log, that the other has not written to its end.
        (Outcome(OutcomeKind.EXCEPTION, exception=replace(error(phase="uncaught"), type="json.JSONDecodeError")), True),
        (
            Outcome(OutcomeKind.EXCEPTION, exception=replace(error(phase="uncaught"), type="_pickle.UnpicklingError")),
            True,
        ),
        (
            Outcome(
                OutcomeKind.EXCEPTION,
                exception=error(message="PytorchStreamReader failed reading zip archive", phase="uncaught"),
            ),
            True,
        ),
        (Outcome(OutcomeKind.EXCEPTION, exception=replace(error(phase="compile"), type="UnpicklingError")), False),
        (Outcome(OutcomeKind.CRASH, signal="SIGSEGV"), False),
        (Outcome(OutcomeKind.CRASH, signal="SIGKILL"), True),  # perhaps for the memory of two
        (Outcome(OutcomeKind.OOM), True),
    ],
)
def test_what_two_runs_may_bring_about(outcome: Outcome, expected: bool) -> None:
    assert may_be_in_the_way(outcome) is expected


def test_every_rung_is_walked_as_without_it(walk: Callable[..., Walk], tmp_path: Path) -> None:
    found = walk(fails(tmp_path), jobs=2)
    found.first()
    found.settle()
    assert set(found.seen) == set(RUNGS)


BELOW = "aot_eager_decomp_partition"


def test_once_a_graph_has_come_to_inductor_the_rung_below_it_is_run_too(
    walk: Callable[..., Walk], tmp_path: Path
) -> None:
    machine = fails(tmp_path, phase="inductor compiles", until=BELOW)
    found = walk(machine, jobs=2)
    found.first()
    assert set(machine.visited()) == {"as_is", "uncompiled", BELOW} and not found.seen.get(BELOW)
    found.settle()
    assert machine.visited().count(BELOW) == 1 and len(found.seen[BELOW]) == 1


def test_not_before(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = fails(tmp_path, phase="compile", until=BELOW, waits=1.0)
    walk(machine, jobs=2).first()
    assert set(machine.visited()) == {"as_is", "uncompiled"}


def test_nor_where_the_uncompiled_run_has_failed(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = Compiling(
        tmp_path, {rung: itertools.repeat(error()) for rung in RUNGS}, phase="inductor compiles", until=BELOW, waits=1.0
    )
    found = walk(machine, jobs=2)
    found.first()
    assert set(machine.visited()) == {"as_is", "uncompiled"}
    assert found.settle().stage is Stage.SCRIPT


def test_it_is_ended_where_the_failure_speaks_for_another_rung(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = Compiling(
        tmp_path, {"inductor": itertools.repeat(error("aot_eager"))}, phase="inductor compiles", until=BELOW
    )
    found = walk(machine, jobs=2)
    found.first()
    assert set(found._ahead) == {"uncompiled"}


def test_where_it_fails_it_is_run_again_with_what_the_first_run_told(walk: Callable[..., Walk], tmp_path: Path) -> None:
    """The first failure came while the graph ran, so its values may matter; the run ahead recorded none."""
    failing = itertools.repeat(error("aot_eager_decomp_partition", phase="call"))
    machine = Compiling(
        tmp_path, {"inductor": itertools.repeat(error(phase="call")), BELOW: failing}, phase="inductor compiles",
        until=BELOW,
    )  # fmt: skip
    found = walk(machine, jobs=2)
    found.first()
    assert found.settle().stage is Stage.DECOMP_PARTITION
    asked = [request for request in machine.requests if request.name == BELOW]
    assert [request.record_values for request in asked] == [False, True]


def ends_after_the_uncompiled_run(walk: Walk, machine: Machine) -> None:
    """Let the first run of this walk go on until the uncompiled one beside it has ended."""

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        done = machine(request, cancel)
        limit = time.monotonic() + 5
        while request.name == "as_is" and not walk._ahead["uncompiled"].ended and time.monotonic() < limit:
            time.sleep(0.01)
        return done

    walk.probe = probe


def test_its_end_is_told_at_once_and_only_once(walk: Callable[..., Walk], tmp_path: Path) -> None:
    machine = fails(tmp_path)
    heard: list[Event] = []
    found = walk(machine, jobs=2, heard=heard)

    ends_after_the_uncompiled_run(found, machine)
    found.first()
    found.settle()
    lines = [line for line in map(plain_line, heard) if line is not None and " after " in line]
    assert lines[0] == "uncompiled: ok after 1.0 s (as_is goes on)" and lines[1].startswith(
        "as_is: exception after 1.0 s"
    )
    assert [line for line in lines if line.startswith("uncompiled")] == lines[:1]


@pytest.mark.parametrize("passes", [True, False])
def test_what_passed_beside_a_first_run_that_is_interrupted_is_told(
    walk: Callable[..., Walk], tmp_path: Path, passes: bool
) -> None:
    """Not what failed there: two runs of the program may have been in each other's way."""
    machine = Compiling(tmp_path, {} if passes else {"uncompiled": [error()]}, (CompileCall("aot_eager"),))
    found = walk(machine, jobs=2)

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        done = machine(request, cancel)
        limit = time.monotonic() + 5
        while request.name == "as_is" and time.monotonic() < limit:
            if found._ahead["uncompiled"].ended:
                raise KeyboardInterrupt
            time.sleep(0.01)
        return done

    found.probe = probe
    with pytest.raises(KeyboardInterrupt):
        found.first()
    findings = Findings(found.session, found.target, ("train.py",), found, incomplete="interrupted")
    report = assemble(findings)
    rows = [(row.rung, row.outcome, row.note) for row in report.ladder]
    if passes:
        assert re.fullmatch(
            r"Nothing is settled yet: interrupted when the script as it is had run for \d s; "
            r"without torch.compile it passes, in 1 s\.", report.verdict.summary,
        )  # fmt: skip
        assert rows[0] == ("uncompiled", "ok", None)
        assert [rows[-1][0], rows[-1][1], (rows[-1][2] or "")[:14]] == ["aot_eager", "not_run", "had not ended "]
    else:
        assert report.verdict.summary.startswith("Nothing is known yet: interrupted when") and rows[0][1] == "not_run"


@pytest.mark.parametrize(
    ("message", "again", "asks"),
    [("bad operand", True, False), ("no such size", True, False), ("no such size", False, True)],
)
def test_no_graph_is_asked_where_the_uncompiled_run_beside_has_failed_and_does_so_alone(
    walk: Callable[..., Walk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, again: bool, asks: bool
) -> None:
    also = itertools.repeat(error(message=message)) if again else [error(message=message), None, None]
    machine = Compiling(tmp_path, {"inductor": itertools.repeat(error()), "uncompiled": also})
    found = walk(machine, jobs=2)

    ends_after_the_uncompiled_run(found, machine)
    found.first()
    asked: list[Findings] = []
    monkeypatch.setattr(graph_ladder, "_answers", lambda findings: asked.append(findings) or {})
    assert not graph_ladder.asked(Findings(found.session, found.target, ("train.py",), found))
    assert bool(asked) == asks and (asks or found.conclusion().own_fault is OwnFault.UNCOMPILED)


def test_the_graph_of_a_script_that_cannot_be_run_twice_is_asked_though_it_fails_uncompiled(
    walk: Callable[..., Walk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run beside it met its results, and so does the script itself now."""
    there = error(message="there are results already", phase="uncaught")
    turns = {"inductor": itertools.chain([error()], itertools.repeat(there)), "uncompiled": itertools.repeat(there)}
    machine = Compiling(tmp_path, turns)
    found = walk(machine, jobs=2)
    ends_after_the_uncompiled_run(found, machine)
    found.first()
    asked: list[Findings] = []
    monkeypatch.setattr(graph_ladder, "_answers", lambda findings: asked.append(findings) or {})
    graph_ladder.asked(Findings(found.session, found.target, ("train.py",), found))
    assert found.spoiled is not None and len(asked) == 1
