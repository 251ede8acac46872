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
from walk_machine import walk_of

from triage.agent import boot
from triage.locate import comparing
from triage.locate.walk import Walk
from triage.locate.which_graph import IS_NEARER, PASSES, how_else
from triage.model.accuracy import Check, WrongResult
from triage.model.codec import encode
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest
from triage.stories.accuracy_notes import wrong_besides
from triage.stories.captured import captured

FIRST = WrongResult(
    "0/0",
    1,
    "output 0",
    "forward",
    dtype="float32",
    shape=(4,),
    eager=0.0,
    compiled=5.0,
    file="graph-wrong-1-dynamo.json",
)
SECOND = replace(FIRST, graph="1/0", call=3, file="graph-wrong-2-dynamo.json")
LOOKS_AT_IT = Check("values", "assert_close", "float32", (4,), difference=5.0)
LOSS = Check("values", "difference", "float32", (), difference=70.0)


def failing(line: int = 9, check: Check | None = LOOKS_AT_IT) -> Outcome:
    frames = (Frame("/home/me/x.py", line, "<module>", "assert close(out, ref)"),)
    error = RaisedException("AssertionError", "no", frames, phase="uncaught", check=check)
    return Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)


ENDS_WELL = Outcome(OutcomeKind.OK, 1.0, 0)


class Machine:
    """A script whose check fails with Inductor. Without `enough` of the graphs `needed` for that it ends as `after` says."""

    def __init__(
        self,
        *needed: str,
        enough: int = 1,
        wrongs: tuple[WrongResult, ...] = (FIRST, SECOND),
        after: Outcome = ENDS_WELL,
        check: Check | None = LOOKS_AT_IT,
        not_compared: tuple[str, ...] = (),
    ) -> None:
        self.needed, self.enough, self.after, self.check = needed, enough, after, check
        self.found = AgentNotes(wrongs=wrongs, compared=4, not_compared=not_compared)
        self.requests: list[ProbeRequest] = []

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.requests.append(request)
        fails = request.rung in (None, "inductor")
        outcome = failing(check=self.check) if fails else ENDS_WELL
        if fails and len(set(self.needed) & set(request.uncompiled_graphs)) >= self.enough:
            outcome = self.after
        notes = self.found if request.accuracy is not None else AgentNotes()
        notes = replace(notes, started=True, torch_version="2.13.0", compile_calls=(CompileCall(None),), graphs=2)
        return Probe(request.name, request.rung, outcome, None, notes, Path("x"))

    @property
    def left_out(self) -> list[tuple[str, ...]]:
        return [request.uncompiled_graphs for request in self.requests if request.uncompiled_graphs]


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[Machine], Walk]:
    def make(machine: Machine) -> Walk:
        walk = walk_of(tmp_path)(machine)
        walk.first()
        comparing.check_first(walk)
        return walk

    return make


def told(walk: Walk) -> str:
    return walk.checked.notes.wrong.graph


def test_the_graph_is_told_without_which_the_check_passes(checked: Callable[[Machine], Walk]) -> None:
    machine = Machine("1/0")
    walk = checked(machine)
    assert (told(walk), machine.left_out) == ("1/0", [("0/0",), ("1/0",)])
    note = wrong_besides(walk.apart)
    assert "this is wrong as well: graph 0/0, output 0: off by" in note
    by = "by graph 1/0: it passes where that graph alone is not compiled, and with graph 0/0 uncompiled it fails as before."
    assert note.endswith(by)


def test_that_is_asked_first_which_the_check_is_likeliest_to_look_at(checked: Callable[[Machine], Walk]) -> None:
    machine = Machine("1/0", wrongs=(replace(FIRST, shape=(7,)), SECOND))
    assert (told(checked(machine)), machine.left_out) == ("1/0", [("1/0",)])


def test_where_each_of_them_is_enough_that_is_said(checked: Callable[[Machine], Walk]) -> None:
    machine = Machine("0/0", "1/0", enough=2)
    walk = checked(machine)
    assert (told(walk), machine.left_out) == ("0/0", [("0/0",), ("1/0",), ("0/0", "1/0")])
    note = wrong_besides(walk.apart)
    assert note is not None and "fails by several of these" in note and "it passes with none of them compiled" in note


@pytest.mark.parametrize(("kind", "check"), [("strides", LOOKS_AT_IT), ("strides", None)])
def test_what_is_wrong_with_no_value_is_not_told_where_the_check_fails_as_before_without_it(
    checked: Callable[[Machine], Walk], kind: str, check: Check | None
) -> None:
    """Strides that nobody looks at, and a check that fails by rounding: what it compared need not be known."""
    walk = checked(Machine(wrongs=(replace(FIRST, kind=kind),), check=check))
    assert walk.checked is None and walk.checked_first.notes.wrongs == ()
    note = wrong_besides(walk.apart)
    assert note.startswith("Compared with eager on what it was called with, this is wrong: graph")
    assert note.endswith("does not fail by what is wrong here: with graph 0/0 uncompiled it fails as before.")


def test_a_wrong_value_is_told_all_the_same_and_that_the_check_does_not_fail_by_it(
    checked: Callable[[Machine], Walk],
) -> None:
    walk = checked(Machine(wrongs=(replace(FIRST, kind="strides"), replace(SECOND, shape=(9,))), check=LOSS))
    note = wrong_besides(walk.apart)
    assert told(walk) == "1/0" and note is not None and "does not fail by what is wrong here" in note


@pytest.mark.parametrize(
    "unsure", [{"check": None}, {"check": replace(LOSS, difference=None)}, {"not_compared": ("graph 2/0: a DTensor",)}]
)
def test_a_wrong_graph_is_told_where_the_check_may_fail_by_more(
    checked: Callable[[Machine], Walk], unsure: dict[str, Any]
) -> None:
    walk = checked(Machine(**{"check": LOSS, **unsure}))
    note = wrong_besides(walk.apart)
    assert told(walk) == "0/0" and note is not None
    assert "Whether the script's check fails by that is not known: with graph 0/0, or with graph 1/0 uncompiled" in note
    machine = Machine(**{"wrongs": (FIRST,), "check": LOSS, **unsure})
    assert told(checked(machine)) == "0/0" and machine.left_out == []  # nothing would follow from it


def test_an_exact_check_that_is_off_by_far_less_then_was_off_by_that_graph(checked: Callable[[Machine], Walk]) -> None:
    walk = checked(Machine("0/0", wrongs=(FIRST,), check=LOSS, after=failing(check=replace(LOSS, difference=1e-6))))
    assert told(walk) == "0/0" and walk.apart.then == IS_NEARER
    assert wrong_besides(walk.apart) is None


def test_a_later_check_that_fails_then_is_another_one(checked: Callable[[Machine], Walk]) -> None:
    assert told(checked(Machine("1/0", after=failing(line=12)))) == "1/0"
    assert told(checked(Machine("1/0", after=failing(check=replace(LOOKS_AT_IT, shape=(5,)))))) == "1/0"


def test_of_one_wrong_graph_that_the_check_is_seen_to_look_at_nothing_is_asked(
    checked: Callable[[Machine], Walk],
) -> None:
    machine = Machine("0/0", wrongs=(FIRST, replace(FIRST, item="output 1")))
    walk = checked(machine)
    assert machine.left_out == [] and walk.apart is None and wrong_besides(walk.apart) is None


def test_the_same_check_is_known_by_its_lines_and_what_it_compared() -> None:
    assert how_else(failing(), failing()) == how_else(failing(check=None), failing()) == ""
    assert how_else(failing(10), failing()) == how_else(ENDS_WELL, failing()) == PASSES
    assert how_else(Outcome(OutcomeKind.CRASH, 1.0, -11, "SIGSEGV"), failing()) == ""


def test_what_fails_in_another_wrong_graph_is_another_failure(
    checked: Callable[[Machine], Walk], tmp_path: Path
) -> None:
    walk = checked(Machine("1/0"))
    paths = []
    for wrong in (FIRST, SECOND):
        graph = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")
        paths.append(tmp_path / wrong.file)
        paths[-1].write_text(json.dumps(encode(replace(graph, graph_id=wrong.graph, level="dynamo"))))
    walk.checked = replace(walk.checked, graphs=tuple(paths))
    cases, _ = captured(walk, walk.conclusion())
    assert [each.graph_id for each in cases] == ["1/0"]


# -- the run that compares ---------------------------------------------------------------------------------------------


class LeftError(Exception):
    """In the place of the end of the program."""


def compared(own_check: bool, *graphs: Any, every: bool = False) -> list[tuple[str, int, str]]:
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
    comparer = module.Comparer(torch, recorder, {"stop": True, "own_check": own_check, "every": every})
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


@pytest.mark.parametrize("dual", [True, False])
def test_it_is_told_that_tangents_of_forward_mode_are_not_compared(dual: bool) -> None:
    """A copy of a dual tensor is none: of a graph that drops its tangent nothing is found."""
    torch = pytest.importorskip("torch")
    boot.load_agent()
    module, kept = (importlib.import_module(f"{boot.PACKAGE}.compare.{name}") for name in ("graphs", "kept"))
    told: list[tuple[str, Any]] = []
    channel = SimpleNamespace(say=lambda event, **facts: told.append((event, facts.get("reason"))))
    recorder = SimpleNamespace(channel=channel, config={}, breadcrumb=lambda text: None, leave_early=lambda: None)
    comparer = module.Comparer(torch, recorder, {"own_check": True})
    held = kept.Kept(torch, torch.fx.symbolic_trace(lambda x: (torch.sin(x),)))
    run = comparer.watch(lambda x: (torch.sin(x.detach()),), held, "0/0", [], {})
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        value = torch.ones(3)
        for _ in range(2):
            run(forward_ad.make_dual(value, torch.ones(3)) if dual else value)
    reasons = [reason for event, reason in told if event == "not_compared"]
    assert len(reasons) == dual and all("forward-mode" in str(reason) for reason in reasons)
    assert comparer.calls == 2  # their values are


def wrong_at(*places: int) -> Any:
    """A graph of two values, and what compiles it to wrong ones at these places."""
    torch = pytest.importorskip("torch")

    def right(x: Any) -> tuple[Any, ...]:
        return torch.sin(x), torch.cos(x)

    return right, lambda x: tuple(y + 1 if place in places else y for place, y in enumerate(right(x)))


@pytest.mark.parametrize(("every", "dense", "seen"), [(False, 0.0, False), (True, 0.0, True), (False, 60.0, True)])
def test_what_is_wrong_in_a_later_call_only_is_seen_where_every_one_is_compared(
    monkeypatch: pytest.MonkeyPatch, every: bool, dense: float, seen: bool
) -> None:
    boot.load_agent()
    monkeypatch.setattr(importlib.import_module(f"{boot.PACKAGE}.compare.graphs"), "DENSE_SECONDS", dense)
    right, wrong = wrong_at(0)
    calls: list[Any] = []

    def wrong_in_its_third_call(x: Any) -> Any:
        calls.append(x)
        return (wrong if len(calls) == 3 else right)(x)

    assert compared(False, (right, wrong_in_its_third_call), every=every) == [("0/0", 3, "output 0")] * seen


def test_a_run_up_to_a_failing_check_goes_on_after_the_first_wrong_value() -> None:
    graphs = wrong_at(1), wrong_at(0), wrong_at()
    assert compared(True, *graphs) == [("0/0", 1, "output 1"), ("1/0", 1, "output 0")]  # each once
    assert compared(False, *graphs) == [("0/0", 1, "output 1")]


def test_a_graph_that_is_given_wrong_values_is_not_wrong_by_that() -> None:
    assert compared(True, wrong_at(0), wrong_at()) == [("0/0", 1, "output 0")]
