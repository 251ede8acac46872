"""Several graphs are wrong by themselves, and the script's check fails by one: which, is asked of the script itself."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor

from triage.agent import boot
from triage.locate import comparing
from triage.locate.walk import Walk
from triage.locate.which_graph import fails_at_the_same_check
from triage.model.accuracy import Check, WrongResult
from triage.model.codec import encode
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest
from triage.probe.target import Target
from triage.session.clock import Clock
from triage.session.events import Emitter
from triage.session.session import Session
from triage.session.settings import Settings
from triage.stories.captured import captured
from triage.stories.comparison import wrong_besides

FIRST = WrongResult("0/0", 1, "output 0", "forward", dtype="float32", shape=(4,), file="graph-wrong-1-dynamo.json")
SECOND = replace(FIRST, graph="1/0", call=3, file="graph-wrong-2-dynamo.json")
LOOKS_AT_FIRST = Check("values", "assert_close", "float32", (4,))


def failing(line: int = 9, check: Check | None = LOOKS_AT_FIRST) -> Outcome:
    frames = (Frame("/home/me/x.py", line, "<module>", "assert close(out, ref)"),)
    error = RaisedException("AssertionError", "no", frames, phase="uncaught", check=check)
    return Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)


PASSES = Outcome(OutcomeKind.OK, 1.0, 0)


class Machine:
    """A script whose check fails with Inductor; not where one of the graphs `needed` for that is not compiled."""

    def __init__(
        self, *needed: str, wrongs: tuple[WrongResult, ...] = (FIRST, SECOND), after: Outcome = PASSES
    ) -> None:
        self.needed, self.wrongs, self.after = needed, wrongs, after
        self.requests: list[ProbeRequest] = []

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.requests.append(request)
        fails = request.rung in (None, "inductor")
        outcome = failing() if fails else PASSES
        if fails and set(self.needed) & set(request.uncompiled_graphs):
            outcome = self.after
        notes = AgentNotes(True, "2.13.0", compile_calls=(CompileCall(None),), graphs=2)
        if request.accuracy is not None:
            notes = replace(notes, wrongs=self.wrongs, compared=4)
        return Probe(request.name, request.rung, outcome, None, notes, Path("x"))

    @property
    def left_out(self) -> list[tuple[str, ...]]:
        return [request.uncompiled_graphs for request in self.requests if request.uncompiled_graphs]


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[Machine], Walk]:
    def make(machine: Machine) -> Walk:
        session = Session(tmp_path, Settings(jobs=1), Emitter(lambda _: None), Clock(0.0), None)
        walk = Walk(session, Target("python", ("python", "x.py"), tmp_path), probe=machine)
        walk.first()
        assert comparing.check_first(walk)
        return walk

    return make


def told(walk: Walk) -> str:
    assert walk.checked is not None and walk.checked.notes.wrong is not None
    return walk.checked.notes.wrong.graph


def test_the_graph_is_told_without_which_the_check_passes(checked: Callable[[Machine], Walk]) -> None:
    machine = Machine("1/0")
    walk = checked(machine)
    assert (told(walk), machine.left_out) == ("1/0", [("0/0",), ("1/0",)])
    note = wrong_besides(walk.apart)
    assert note is not None and "graph 0/0, output 0: off by" in note
    assert (
        "fails by graph 1/0: it passes where that graph alone is not compiled, and fails with graph 0/0 uncompiled."
        in note
    )


def test_that_is_asked_first_which_the_check_is_likeliest_to_look_at(checked: Callable[[Machine], Walk]) -> None:
    machine = Machine("1/0", wrongs=(replace(FIRST, shape=(7,)), SECOND))
    assert (told(checked(machine)), machine.left_out) == ("1/0", [("1/0",)])


def test_where_the_check_fails_with_each_of_them_uncompiled_that_is_said(checked: Callable[[Machine], Walk]) -> None:
    walk = checked(Machine())
    note = wrong_besides(walk.apart)
    assert (
        told(walk) == "0/0"
        and note is not None
        and note.endswith("it does with graph 0/0, or with graph 1/0 uncompiled.")
    )


def test_a_later_check_that_fails_then_is_another_one(checked: Callable[[Machine], Walk]) -> None:
    assert told(checked(Machine("1/0", after=failing(line=12)))) == "1/0"
    assert told(checked(Machine("1/0", after=failing(check=replace(LOOKS_AT_FIRST, shape=(5,)))))) == "1/0"


def test_of_one_wrong_graph_nothing_is_asked(checked: Callable[[Machine], Walk]) -> None:
    machine = Machine("0/0", wrongs=(FIRST, replace(FIRST, item="output 1")))
    walk = checked(machine)
    assert machine.left_out == [] and walk.apart is None and wrong_besides(walk.apart) is None


def test_the_same_check_is_known_by_its_lines_and_what_it_compared() -> None:
    assert fails_at_the_same_check(failing(), failing())
    assert fails_at_the_same_check(failing(check=None), failing())
    assert not fails_at_the_same_check(failing(10), failing())
    assert not fails_at_the_same_check(PASSES, failing())


def test_what_fails_in_another_wrong_graph_is_another_failure(
    checked: Callable[[Machine], Walk], tmp_path: Path
) -> None:
    walk = checked(Machine("1/0"))
    paths = []
    for wrong in (FIRST, SECOND):
        graph = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")
        paths.append(tmp_path / wrong.file)
        paths[-1].write_text(json.dumps(encode(replace(graph, graph_id=wrong.graph, level="dynamo"))))
    assert walk.checked is not None
    walk.checked = replace(walk.checked, graphs=tuple(paths))
    cases, _ = captured(walk, walk.conclusion())
    assert [each.graph_id for each in cases] == ["1/0"]


# -- the run that compares ---------------------------------------------------------------------------------------------


class LeftError(Exception):
    """In the place of the end of the program."""


def compared(own_check: bool, *graphs: Any) -> list[tuple[str, int, str]]:
    """(graph, call, value) of what is told where each of these compiled graphs is called in turn, three times."""
    torch = pytest.importorskip("torch")
    boot.load_agent()
    module, kept = (importlib.import_module(f"{boot.PACKAGE}.compare.{name}") for name in ("graphs", "kept"))
    told: list[tuple[str, int, str]] = []

    def say(event: str, **facts: Any) -> None:
        if event == "wrong":
            told.append((facts["result"]["graph"], facts["result"]["call"], facts["result"]["item"]))

    def leave() -> None:
        raise LeftError

    recorder = SimpleNamespace(
        channel=SimpleNamespace(say=say), config={}, breadcrumb=lambda text: None, leave_early=leave
    )
    comparer = module.Comparer(torch, recorder, {"stop": True, "own_check": own_check})
    comparer._not_compared = lambda graph_id, error: (_ for _ in ()).throw(error)
    torch.manual_seed(0)
    calls = []
    for number, (right, compiled) in enumerate(graphs):
        held = kept.Kept(torch, torch.fx.symbolic_trace(right))
        calls.append(comparer.watch(compiled, held, f"{number}/0", [], {}))
    value = torch.randn(4)
    try:
        for _ in range(3):
            for run in calls:
                (value, *_) = run(value)
    except LeftError:
        pass
    return told


def wrong_at(*places: int) -> Any:
    """A graph of two values, and what compiles it to wrong ones at these places."""
    torch = pytest.importorskip("torch")

    def right(x: Any) -> tuple[Any, ...]:
        return torch.sin(x), torch.cos(x)

    return right, lambda x: tuple(y + 1 if place in places else y for place, y in enumerate(right(x)))


def test_a_run_up_to_a_failing_check_goes_on_after_the_first_wrong_value() -> None:
    graphs = wrong_at(1), wrong_at(0), wrong_at()
    assert compared(True, *graphs) == [("0/0", 1, "output 1"), ("1/0", 1, "output 0")]  # each once
    assert compared(False, *graphs) == [("0/0", 1, "output 1")]


def test_a_graph_that_is_given_wrong_values_is_not_wrong_by_that() -> None:
    assert compared(True, wrong_at(0), wrong_at()) == [("0/0", 1, "output 0")]
