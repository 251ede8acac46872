"""A graph that fails in a later call than its first is described by what it was given in that."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from walk_machine import Machine, error, walk_of

from triage.agent import boot
from triage.model.stage import OutcomeKind
from triage.probe.events import read_events

torch = pytest.importorskip("torch")
boot.load_agent()
frames, channel, running, describe, later = (
    importlib.import_module(f"{boot.PACKAGE}.{name}")
    for name in ("hooks.frames", "hooks.channel", "hooks.running", "capture.describe", "capture.later")
)
NAME = "graph-000-dynamo.json"


def picks(table: Any, place: Any) -> Any:
    return table[place]


def watched(folder: Path, **config: Any) -> tuple[Callable[..., Any], Callable[[], dict[str, Any]]]:
    """A graph as the hooks leave it to the program, and what is written of its input `place`."""
    gm = torch.fx.symbolic_trace(picks)
    first = (torch.ones(4), torch.tensor([1, 2]))
    recorder = SimpleNamespace(
        config=config,
        channel=channel.Channel(str(folder)),
        running=running.Running(str(folder)),
        breadcrumb=lambda text: None,
        mark=lambda error, **_: None,
    )
    recorder.channel.put(NAME, json.dumps(describe.graph_case(gm, first, level="dynamo")))
    graph = frames._watch_graph(gm.forward, recorder, "0/0", NAME, ["table", "place"])

    def place() -> dict[str, Any]:
        inputs = json.loads((folder / NAME).read_text())["inputs"]
        return next(item for item in inputs if item["name"] == "place")

    graph(*first)
    return graph, place


def test_a_later_call_that_raises_leaves_its_values(tmp_path: Path) -> None:
    graph, place = watched(tmp_path)
    before = place()
    assert before["data"] != [3, 9]
    graph(torch.ones(4), torch.tensor([0, 3]))
    assert place() == before  # nobody pays for what passes
    for values in ([3, 9], [7, 7]):  # a program that catches it and goes on pays once
        with pytest.raises(IndexError):
            graph(torch.ones(4), torch.tensor(values))
    assert place() == {**before, "fill": "values", "data": [3, 9]}


def test_other_sizes_are_another_graph_where_they_are_no_symbols(tmp_path: Path) -> None:
    graph, place = watched(tmp_path)
    before = place()
    with pytest.raises(IndexError):
        graph(torch.ones(4), torch.tensor([3, 9, 0]))
    assert place() == before


def halves(x: Any, k: int) -> Any:
    return torch.cat([x.chunk(2, -1)[0] * k, x[:, :3]]).t()[:, ::2]


def dynamic(calls: list[tuple[Any, int]]) -> tuple[dict[str, Any], list[str], list[Any]]:
    """A graph of symbolic sizes as its first call describes it, its placeholders, and what each call was given."""
    cases, given = [], []

    def backend(gm: Any, examples: Any) -> Any:
        cases.append((describe.graph_case(gm, examples, level="dynamo"), later.placeholders_of(gm)))

        def run(*args: Any) -> Any:
            given.append(args)
            return gm(*args)

        return run

    torch._dynamo.reset()  # torch before 2.2 takes what another backend compiled
    compiled = torch.compile(halves, backend=backend, dynamic=True)
    for call in calls:
        compiled(*call)
    ((case, names),) = cases
    return case, names, given


def test_other_sizes_are_told_of_every_value_where_they_are_symbols() -> None:
    calls = [(torch.randn(8, 6), 2), (torch.randn(11, 6), 5)]
    case, names, given = dynamic(calls)
    assert later.give(case, names, given[-1])
    inputs = {item["source"]: item for item in case["inputs"]}
    assert inputs["L['x']"]["meta"]["shape"] == [11, 6] and len(inputs["L['x']"]["data"]) == 11
    assert inputs["L['k']"]["value"] == 5
    last = case["nodes"][-1]["out"][0]
    result = halves(*calls[-1])
    assert (last["shape"], last["stride"]) == (list(result.shape), list(result.stride()))


def test_of_a_batch_more_is_recorded_than_of_a_parameter() -> None:
    model = torch.nn.Linear(200, 200)
    cases = []

    def backend(gm: Any, examples: Any) -> Any:
        real = [model.weight, model.bias, torch.ones(300, 200)]
        cases.append(describe.graph_case(gm, examples, level="dynamo", real_inputs=real, record_values=True))
        return gm

    torch.compile(model, backend=backend, dynamic=False)(torch.ones(300, 200))
    kept = {item["role"]: item["data"] is not None for item in cases[0]["inputs"] if len(item["meta"]["shape"]) == 2}
    assert kept == {"parameter": False, "input": True}


def test_sizes_that_the_call_does_not_tell_leave_the_graph_as_it_was() -> None:
    case, names, given = dynamic([(torch.randn(8, 6), 2), (torch.randn(11, 6), 5)])
    case["nodes"][-1]["out"][0]["symbols"]["1"] = "u0"
    before = json.dumps(case)
    assert not later.give(case, names, given[-1])
    assert json.dumps(case) == before


def test_a_call_that_will_end_the_process_is_described_beforehand(tmp_path: Path) -> None:
    graph, place = watched(tmp_path, values_of_call=["0/0", 3])
    before = place()
    graph(torch.ones(4), torch.tensor([0, 3]))
    assert place() == before
    graph(torch.ones(4), torch.tensor([3, 3]))
    assert place()["data"] == [3, 3]


@pytest.mark.parametrize("lost", [True, False])
def test_where_a_gpu_is_lost_the_values_are_left_to_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    graph, place = watched(tmp_path)
    before = place()
    monkeypatch.setattr(frames.gpu, "is_lost", lambda: lost)
    with pytest.raises(IndexError):
        graph(torch.ones(4), torch.tensor([3, 9]))
    assert (place() == before) is lost
    failed = next(event for event in read_events(tmp_path) if event["e"] == "graph_failed")
    assert failed.get("died_in_call") == (2 if lost else None)


def test_which_call_it_was_outlives_the_process(tmp_path: Path) -> None:
    note = running.Running(str(tmp_path))
    note.enter(running.note_of("0/0", NAME), 17)
    note.keep()
    assert read_events(tmp_path)[-1] == {
        "e": "graph_failed",
        "graph": "0/0",
        "file": NAME,
        "when": "run",
        "died_in_call": 17,
    }


@pytest.mark.parametrize(("call", "asked"), [(17, ("0/0", 17)), (1, None)])
def test_the_failing_rung_is_asked_for_the_values_of_that_call(
    tmp_path: Path, call: int, asked: tuple[str, int] | None
) -> None:
    machine = Machine({"as_is": [OutcomeKind.CRASH] * 3, "inductor": [OutcomeKind.CRASH] * 3})

    def dies(request: Any, cancel: Any = None) -> Any:
        probe = machine(request, cancel)
        return replace(probe, notes=replace(probe.notes, died_in=("0/0", call))) if probe.outcome.failed else probe

    walk = walk_of(tmp_path)(machine)
    walk.probe = dies
    walk.first()
    walk.settle()
    again = [request for request in machine.requests if request.rung == "inductor"]
    assert again and {request.values_of_call for request in again} == {asked}


def test_what_is_raised_is_described_where_it_is_raised(tmp_path: Path) -> None:
    """No run is asked for the values of a call that the first one told by itself."""
    machine = Machine({"as_is": [error(phase="call")] * 3, "inductor": [error(phase="call")] * 3})
    walk = walk_of(tmp_path)(machine)
    walk.first()
    walk.settle()
    assert {request.values_of_call for request in machine.requests} == {None}
