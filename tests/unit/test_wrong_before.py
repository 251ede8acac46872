"""A graph dies of what an earlier one computed wrongly: shown by a run of the script without that one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import walk_of

from triage.judge.signature import signature_of
from triage.locate import wrong_before
from triage.locate.walk import Walk
from triage.model.accuracy import WrongResult
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Symptom
from triage.probe.run import Probe, ProbeRequest

WRONG = WrongResult("0/0", 1, "output 0", "forward", dtype="float32", eager=9.0, compiled=10.0, file="graph-1.json")
RAISED = RaisedException(
    "RuntimeError", "index out of bounds", (Frame("/x/torch/_inductor/output_code.py", 3, "__call__"),), phase="call"
)
ABORTED = Outcome(OutcomeKind.CRASH, 1.0, None, detail="SIGABRT", signal="SIGABRT")
FAILS = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=RAISED)
PASSES = Outcome(OutcomeKind.OK, 1.0, 0)


class Machine:
    """Graph 1/0 fails with Inductor, unless the graph `by` is not compiled; `wrongs` are found where graphs are compared."""

    def __init__(self, by: str = "0/0", wrongs: tuple[WrongResult, ...] = (WRONG,), outcome: Outcome = FAILS) -> None:
        self.by, self.wrongs, self.outcome = by, wrongs, outcome
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        fails = request.rung in (None, "inductor") and self.by not in request.uncompiled_graphs
        self.asked += [request.uncompiled_graphs] if request.uncompiled_graphs else []
        outcome = self.outcome if fails else PASSES
        notes = AgentNotes(True, "2.13.0", compile_calls=(CompileCall(None),), graphs=2, graph="1/0" if fails else None)
        if request.accuracy is not None:
            notes = replace(notes, wrongs=self.wrongs, compared=1)
        return Probe(request.name, request.rung, outcome, signature_of(outcome), notes, Path("x"))


def walked(tmp_path: Path, machine: Machine) -> Walk:
    walk = walk_of(tmp_path)(machine)
    walk.first()
    walk.settle()
    return walk


@pytest.mark.parametrize("outcome", [FAILS, ABORTED])
def test_the_graph_is_told_without_which_the_script_passes(tmp_path: Path, outcome: Outcome) -> None:
    machine = Machine(outcome=outcome)
    walk = walked(tmp_path, machine)
    assert wrong_before.worth_looking(walk)
    note = wrong_before.look(walk)
    assert (
        note
        == "It fails in graph 1/0, by the wrong value of graph 0/0: it passes where that graph alone is not compiled."
    )
    found = walk.conclusion()
    assert found.wrong == WRONG and found.symptom in (Symptom.EXCEPTION, Symptom.CRASH)
    assert not wrong_before.worth_looking(walk)


@pytest.mark.parametrize(
    ("machine", "asked"),
    [
        (Machine(by="elsewhere"), [("0/0",)]),  # wrong besides
        (Machine(wrongs=()), []),
        (Machine(wrongs=(replace(WRONG, graph="1/0"),)), []),  # without the graph that fails nothing is shown
    ],
)
def test_what_is_not_shown_is_not_told(tmp_path: Path, machine: Machine, asked: list[tuple[str, ...]]) -> None:
    walk = walked(tmp_path, machine)
    assert wrong_before.look(walk) is None and machine.asked == asked
    assert walk.checked is None and walk.conclusion().wrong is None


def test_what_only_looks_like_rounding_counts_as_well(tmp_path: Path) -> None:
    walk = walked(tmp_path, Machine(wrongs=()))
    note = wrong_before.look(walk, lambda probe: replace(probe, notes=replace(probe.notes, wrongs=(WRONG,))))
    assert note is not None and walk.conclusion().wrong == WRONG


def test_nothing_is_asked_where_a_graph_has_answered_or_while_it_compiles(tmp_path: Path) -> None:
    walk = walked(tmp_path, Machine())
    walk.on_graph = {"inductor": walk.start}
    assert not wrong_before.worth_looking(walk)
    compiling = replace(FAILS, exception=replace(RAISED, phase="compile"))
    assert not wrong_before.worth_looking(walked(tmp_path, Machine(outcome=compiling)))
