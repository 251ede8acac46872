"""Which compiled graph failed: from what the hooks said of it, or from what ran when its process died. No torch here."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from triage.agent import boot
from triage.probe.events import read_events
from triage.probe.notes import agent_notes, graph_order

boot.load_agent()
notes = importlib.import_module(f"{boot.PACKAGE}.hooks.running")
AGENT = Path(boot.__file__).parent
DIES = """
import importlib, os, signal, sys
sys.path.insert(0, {agent!r})
import boot
boot.load_agent()
notes = importlib.import_module(boot.PACKAGE + ".hooks.running")
note_of, running = notes.note_of, notes.Running({folder!r})
outer = running.enter(note_of("3/0", "graph-003-dynamo.json"))
inner = running.enter(note_of("17/1", "graph-017-dynamo.json"), 23)
{then}
os.kill(os.getpid(), signal.SIGKILL)
"""


def left_by(folder: Path, then: str) -> list[dict[str, Any]]:
    code = DIES.format(agent=str(AGENT), folder=str(folder), then=then)
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    return read_events(folder)


def test_a_process_that_dies_in_a_graph_leaves_its_name(tmp_path: Path) -> None:
    events = left_by(tmp_path, "")
    assert events == [
        {"e": "breadcrumb", "text": "run graph 17/1"},
        {"e": "graph_failed", "graph": "17/1", "file": "graph-017-dynamo.json", "when": "run", "died_in_call": 23},
    ]
    assert (agent_notes(events).graph, agent_notes(events).died_in) == ("17/1", ("17/1", 23))
    newer = [{"e": "graph", "file": f"graph-{n:03d}-dynamo.json"} for n in (3, 17, 29)]
    assert graph_order([*newer, *events])[0] == "graph-017-dynamo.json"


def test_what_has_ended_is_not_named(tmp_path: Path) -> None:
    events = left_by(tmp_path, "running.leave(inner)")
    assert agent_notes(events).graph == "3/0"
    for file in tmp_path.iterdir():
        file.unlink()
    assert left_by(tmp_path, "running.leave(inner); running.leave(outer)") == []


def test_a_child_does_not_write_into_its_parents_note(tmp_path: Path) -> None:
    then = """
child = os.fork()
if child == 0:
    running.leave(running.enter(note_of("5/0", None)))
    os._exit(0)
os.waitpid(child, 0)
"""
    assert agent_notes(left_by(tmp_path, then)).graph == "17/1"


def test_where_no_note_can_be_made_nothing_is_noted(tmp_path: Path) -> None:
    running = notes.Running(str(tmp_path / "gone"))
    running.leave(running.enter(notes.note_of("0/0", None)))
    assert read_events(tmp_path / "gone") == []


def raised(number: int, phase: str, graph: str | None = None) -> dict[str, Any]:
    error = {"type": "RuntimeError", "message": "bad", "frames": [], "inner": None, "phase": phase}
    return {"e": "raised", "id": number, "pid": 1, "phase": phase, "exception": error, "graph": graph}


FILES = [{"e": "graph", "file": f"g{n}.json", "graph": f"{n}/0"} for n in range(3)]


@pytest.mark.parametrize(
    ("events", "graph"),
    [
        ([raised(1, "call", "g1.json"), {"e": "raised_again", "id": 1, "pid": 1, "phase": "uncaught"}], "1/0"),
        ([raised(1, "call", "1/0")], "1/0"),
        # The one that ended the program, and not one that was swallowed before.
        (
            [
                raised(1, "call", "g0.json"),
                raised(2, "call", "g2.json"),
                {"e": "raised_again", "id": 2, "pid": 1, "phase": "uncaught"},
            ],
            "2/0",
        ),
        # A check of the script's own; a comparison says which graph was wrong.
        ([raised(1, "uncaught"), {"e": "graph_failed", "graph": "1/0", "file": "g1.json"}], "1/0"),
        # What was not compiled the program ran uncompiled.
        ([raised(1, "uncaught"), {"e": "graph_failed", "graph": "1/0", "file": "g1.json", "when": "compile"}], None),
        # Dynamo could not trace it: the graphs before it have nothing to do with it.
        ([raised(1, "compile"), {"e": "raised_again", "id": 1, "pid": 1, "phase": "uncaught"}], None),
        ([{"e": "breadcrumb", "text": "compile graph 2/0"}], "2/0"),
        ([{"e": "breadcrumb", "text": "inductor compiles backward graph 2/0"}], "2/0"),
        ([{"e": "breadcrumb", "text": "compile graph 1/0"}, {"e": "breadcrumb", "text": "graph 1/0 compiled"}], None),
        ([{"e": "breadcrumb", "text": "graph 2/0 ran"}], None),
        ([], None),
    ],
)
def test_the_graph_that_failed(events: list[dict[str, Any]], graph: str | None) -> None:
    assert agent_notes([*FILES, *events]).graph == graph


@pytest.mark.parametrize(("kind", "said"), [("TensorifyScalarRestartAnalysis", []), ("Unsupported", ["graph_failed"])])
def test_a_graph_that_dynamo_traces_once_more_has_not_failed(kind: str, said: list[str]) -> None:
    """Else a later check of the script's own would be told as a failure of that graph."""
    frames = importlib.import_module(f"{boot.PACKAGE}.hooks.frames")
    error = type(kind, (type("RestartAnalysis" if said == [] else "TorchDynamoException", (Exception,), {}),), {})

    def raises(*_: object) -> None:
        raise error

    told: list[str] = []
    recorder = MagicMock(comparer=None, graphs=0, config={})
    recorder.channel.say.side_effect = lambda event, **_: told.append(event)
    module = SimpleNamespace(OutputGraph=type("OutputGraph", (), {"call_user_compiler": raises}))
    frames.patch_output_graph(module, recorder)
    with pytest.raises(error):
        module.OutputGraph().call_user_compiler(None, [])
    assert told == said
