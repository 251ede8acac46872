"""Several values of one call are wrong, and no check looks at any: the one that is told is wrong on the rung to blame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import walk_of

from triage.judge.signature import signature_of
from triage.locate import comparing
from triage.locate.conclude import rung_that_shows
from triage.locate.walk import Walk
from triage.locate.which_value import Above, begin_above, tell_what_is_wrong_there, told_of
from triage.model.accuracy import WrongResult
from triage.model.outcome import AgentNotes, CompileCall, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, Stage
from triage.probe import interpret
from triage.probe.run import Probe, ProbeRequest
from triage.stories.accuracy_notes import begins_above

PHASE = WrongResult("0/0", 1, "output 0", "forward", kind="nan", sense="compiled")
THUMBNAIL = WrongResult("0/0", 1, "output 1", "forward", dtype="uint8")
GRADIENT = WrongResult("0/0", 1, "gradient of x", "backward")
NAMES = [rung.name for rung in LADDER]


class Machine:
    """A target that raises nothing; each of these values is wrong from its rung on, where somebody compares."""

    def __init__(self, *wrongs: tuple[WrongResult, str]) -> None:
        self.wrongs = wrongs

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        rung = NAMES.index(request.rung or "inductor")
        shown = tuple(wrong for wrong, first in self.wrongs if request.accuracy and rung >= NAMES.index(first))
        notes = AgentNotes(True, "2.13.0", compile_calls=(CompileCall(None),), graphs=1, wrongs=shown)
        outcome = interpret.with_comparison(Outcome(OutcomeKind.OK, 1.0, 0), notes)
        return Probe(request.name, request.rung, outcome, signature_of(outcome), notes, Path("x"))


@pytest.fixture
def located(tmp_path: Path) -> Callable[[Machine], Walk]:
    def make(machine: Machine) -> Walk:
        walk = walk_of(tmp_path)(machine)
        walk.first()
        comparing.compare(walk)
        walk.settle()
        return walk

    return make


def test_the_value_is_told_that_is_wrong_on_the_rung_to_blame(located: Callable[[Machine], Walk]) -> None:
    walk = located(Machine((PHASE, "inductor"), (THUMBNAIL, "aot_eager")))
    assert tell_what_is_wrong_there(walk)
    found = walk.conclusion()
    assert found.stage is Stage.AOT_AUTOGRAD and found.signature is not None
    assert found.signature.wrong == THUMBNAIL.wrongness and found.signature.message == THUMBNAIL.headline()
    assert walk.compared.notes.wrongs == (THUMBNAIL, PHASE)
    assert begin_above(walk) == (Above(PHASE, LADDER[-1]),)
    note = begins_above(begin_above(walk), found.failing)
    assert note is not None and "with `aot_eager` it is what eager gives" in note and "from `inductor` on" in note
    assert not tell_what_is_wrong_there(walk)


def test_a_graph_that_was_asked_for_another_value_shows_this_one(located: Callable[[Machine], Walk]) -> None:
    walk = located(Machine((PHASE, "inductor"), (THUMBNAIL, "aot_eager")))
    failed = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=RaisedException("AssertionError", "eager: tensor(...)"))
    for name in ("aot_eager", "aot_eager_decomp_partition"):
        (probe, *_) = walk.seen.pop(name)
        walk.on_graph[name] = replace(probe, outcome=failed, signature=signature_of(failed), on="graph")
    assert tell_what_is_wrong_there(walk)
    assert rung_that_shows(walk.conclusion(), walk.evidence).name == "aot_eager"


def test_values_that_begin_on_one_rung_are_one_failure_as_far_as_is_known(located: Callable[[Machine], Walk]) -> None:
    walk = located(Machine((PHASE, "inductor"), (THUMBNAIL, "inductor")))
    assert not tell_what_is_wrong_there(walk)
    assert begin_above(walk) == () and begins_above((), LADDER[-1]) is None


def test_a_value_that_is_wrong_on_the_rung_to_blame_alone_is_told_of(located: Callable[[Machine], Walk]) -> None:
    """The script as it is makes another one wrong, in another way."""

    class Changing(Machine):
        def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
            self.wrongs = ((PHASE, "aot_eager"),) if request.rung in (None, "inductor") else ((THUMBNAIL, "aot_eager"),)
            return super().__call__(request, cancel)

    walk = located(Changing())
    tell_what_is_wrong_there(walk)
    found = walk.conclusion()
    assert found.stage is Stage.AOT_AUTOGRAD and found.signature is not None and found.there is not None
    assert (found.signature.wrong, found.there.wrong) == (PHASE.wrongness, THUMBNAIL.wrongness)
    assert told_of(walk).notes.wrong == THUMBNAIL
    usual = located(Machine((PHASE, "aot_eager")))
    assert told_of(usual) is usual.compared


def test_where_more_is_wrong_than_is_looked_at_nothing_is_said_to_be_right(located: Callable[[Machine], Walk]) -> None:
    many = [(replace(THUMBNAIL, item=f"output {number}"), "aot_eager") for number in range(1, 5)]
    assert begin_above(located(Machine((PHASE, "inductor"), *many))) == ()


def test_a_graph_that_answers_names_only_outputs_as_the_script_does(located: Callable[[Machine], Walk]) -> None:
    walk = located(Machine((THUMBNAIL, "aot_eager"), (GRADIENT, "aot_eager")))
    walk.on_graph = {name: replace(probes[0], on="graph") for name, probes in walk.seen.items()}
    for name, probe in walk.on_graph.items():
        renamed = tuple(replace(wrong, item=wrong.item.replace("of x", "of l_x_")) for wrong in probe.notes.wrongs)
        walk.on_graph[name] = replace(probe, notes=replace(probe.notes, wrongs=renamed))
    for name in ("aot_eager", "aot_eager_decomp_partition"):
        del walk.seen[name]
    assert walk.conclusion().stage is Stage.AOT_AUTOGRAD
    assert begin_above(walk) == ()
