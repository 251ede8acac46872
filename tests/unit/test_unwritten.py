"""Memory that nobody wrote: what lies there in an uncompiled run, and when it is what a check of the script's hangs on."""

from __future__ import annotations

import importlib
import itertools
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import Machine, walk_of

from triage.agent import boot
from triage.locate import unwritten
from triage.locate.walk import Walk
from triage.model.outcome import Frame, RaisedException
from triage.model.stage import OwnFault, Stage
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.stories.assemble import assemble
from triage.stories.findings import Findings

torch = pytest.importorskip("torch")
boot.load_agent()
filling = importlib.import_module(f"{boot.PACKAGE}.hooks.unwritten")

CHECK = RaisedException("AssertionError", "not finite", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught")
OTHER = replace(CHECK, type="IndexError", message="out of range")
PLACES = ("torch.empty (net.py:3)", "torch.empty (train.py:7)")


def filled(fill: str, *only: str) -> Iterator[types.SimpleNamespace]:
    said: list[dict[str, str]] = []
    channel = types.SimpleNamespace(say=lambda kind, **facts: said.append(facts))
    names = (*filling.UNWRITTEN, "new")
    kept = [(owner, name, getattr(owner, name, None)) for owner in (torch, torch.Tensor) for name in names]
    config = {"unwritten": {"fill": fill, "only": only}}
    filling.patch(torch, types.SimpleNamespace(config=config, channel=channel))
    try:
        yield types.SimpleNamespace(said=said)
    finally:
        for owner, name, original in kept:
            if original is not None:
                setattr(owner, name, original)
        del torch.Tensor.__new__


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("fill", filling.FILLS)
def test_it_holds_what_it_is_to_hold(fill: str, dtype: object) -> None:
    for run in filled(fill):
        for made in (torch.empty(3, dtype=dtype), torch.ones(2, dtype=dtype).new_empty(4)):
            zeros = bool((made == 0).all())
            assert zeros == (fill == "zeros")
            assert bool(made.isfinite().all()) == (fill != "nan" or not (dtype.is_floating_point or dtype.is_complex))
        assert [each["place"].partition(" (")[0] for each in run.said] == ["torch.empty", "Tensor.new_empty"]


@pytest.mark.parametrize("fill", filling.FILLS)
def test_tensors_made_of_sizes_alone_are_such_memory_and_those_made_of_data_are_not(fill: str) -> None:
    for run in filled(fill):
        for made in (torch.Tensor(2, 3), torch.Tensor(torch.Size([4])), torch.ones(2).new(3)):
            assert bool((made == 0).all()) == (fill == "zeros")
        for data in (torch.Tensor([1.0, 1.0]), torch.Tensor(torch.ones(2)), torch.ones(1).new([1.0, 1.0])):
            assert data.tolist() == [1.0, 1.0]
        assert torch.Tensor().shape == (0,)
        assert isinstance(torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter)
        assert [each["place"].partition(" (")[0] for each in run.said] == ["torch.Tensor", "Tensor.new"]


def test_what_torch_asks_for_itself_is_left_as_it_is_and_other_places_hold_zeros() -> None:
    for run in filled("nan", "torch.empty (elsewhere.py:3)"):
        assert bool((torch.empty(4) == 0).all())
        torch.nn.Linear(2, 2)  # its weights are torch's own affair
        assert len(run.said) == 1


def walked(tmp_path: Path, stage: str, fails: dict[str, RaisedException | None], text: str = "torch.empty(4)") -> Walk:
    """A script whose check fails from this rung on, and with its memory filled as `fails` says (and passes else)."""
    (tmp_path / "x.py").write_text(text)
    rungs = ("uncompiled", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
    machine = Machine({rung: itertools.repeat(CHECK) for rung in rungs[rungs.index(stage) :]})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        asked = request.unwritten
        if asked is None:
            return machine(request, cancel)
        assert request.seed == 0
        decides = not asked["only"] or asked["only"] == PLACES[1:]
        raised = fails.get(str(asked["fill"])) if decides else None
        ran = Machine({"uncompiled": [raised]})(request, cancel)
        return replace(ran, notes=replace(ran.notes, unwritten=PLACES))

    found = walk_of(tmp_path)(machine)
    found.probe = probe
    found.first()
    found.settle()
    return found


@pytest.mark.parametrize(
    ("stage", "fails", "decides"),
    [
        ("uncompiled", {"nan": CHECK}, True),
        ("uncompiled", {"large": CHECK, "nan": CHECK}, True),
        ("uncompiled", {"zeros": CHECK, "large": CHECK, "nan": CHECK}, False),
        ("uncompiled", {"nan": OTHER}, False),
        ("uncompiled", {}, False),
        ("eager", {"large": CHECK}, True),
        ("eager", {"nan": CHECK}, False),  # what no garbage holds says nothing against a script that passes uncompiled
        ("inductor", {}, False),
    ],
)
def test_it_decides_where_zeros_pass_and_something_else_fails(
    tmp_path: Path, stage: str, fails: dict[str, RaisedException | None], decides: bool
) -> None:
    found = walked(tmp_path, stage, fails)
    before = found.conclusion()
    assert unwritten.worth_checking(found, before)
    unwritten.check(found, before)
    report = assemble(Findings(found.session, found.target, ("x.py",), found))
    assert (report.verdict.own_fault is OwnFault.UNWRITTEN) == decides
    assert (report.verdict.stage is Stage.SCRIPT) == (decides or stage == "uncompiled")
    if decides:
        assert PLACES[1] in report.known_cause.explanation
        assert PLACES[1] in report.verdict.summary and PLACES[0] not in report.verdict.summary
    assert not unwritten.worth_checking(found, found.conclusion())  # it is asked once


@pytest.mark.parametrize(("imports", "asks"), [("from nets import blocks", True), ("import torch  # no nets", False)])
def test_files_count_that_the_program_imports(tmp_path: Path, imports: str, asks: bool) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "blocks.py").write_text("from .memory import buffer")
    (tmp_path / "nets" / "memory.py").write_text("def buffer(x):\n    return x.new_empty(3)")
    found = walked(tmp_path, "uncompiled", {}, imports)
    found.target = replace(found.target, script=tmp_path / "x.py")
    assert unwritten.worth_checking(found, found.conclusion()) == asks


def test_it_is_not_asked_where_the_program_asks_for_no_such_memory(tmp_path: Path) -> None:
    found = walked(tmp_path, "uncompiled", {}, "torch.zeros(4)  # empty")
    assert not unwritten.worth_checking(found, found.conclusion())
