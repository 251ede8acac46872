"""The walk along the ladder, with a target that fails as we say: which rungs are visited, and what is concluded."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import FRAMES, RUNGS, SITE, Machine, error, go, walk_of

from triage.judge.signature import signature_of
from triage.locate.later import passed_it
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER, UNCOMPILED, in_place_of
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.session.events import Event
from triage.stories.ladder_rows import ladder_rows
from triage.stories.spoiled import met_note


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("guess", RUNGS[1:])
@pytest.mark.parametrize("lowest", range(1, 5))
def test_the_boundary_is_found_whatever_the_first_failure_suggests(
    walk: Callable[..., Walk], lowest: int, guess: str, jobs: int
) -> None:
    machine = Machine({rung: itertools.repeat(error(guess)) for rung in RUNGS[lowest:]})
    found = walk(machine, jobs)
    conclusion = go(found)
    assert conclusion.failing.name == RUNGS[lowest]
    assert conclusion.settled and conclusion.runs >= 2 and conclusion.failures == conclusion.runs
    traced = lowest == 1 and guess == "eager"  # the rungs above trace as Dynamo does
    assert set(found.seen) == ({"uncompiled", "eager", "inductor"} if traced else set(RUNGS))  # else the whole table
    assert len(machine.requests) <= 7


def test_dynamo_alone_that_fails_otherwise_leaves_the_whole_table(walk: Callable[..., Walk]) -> None:
    other = RaisedException("KeyError", "x", error("eager").frames, phase="compile")
    machine = Machine({"eager": itertools.repeat(other), "inductor": itertools.repeat(error("eager"))})
    found = walk(machine, jobs=2)
    go(found)
    assert set(found.seen) == set(RUNGS)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("graph", [True, False])
def test_a_script_that_cannot_be_run_twice_is_not_to_blame_for_that(
    walk: Callable[..., Walk], jobs: int, graph: bool
) -> None:
    left = RaisedException(
        "SystemExit", "runs/1 exists already", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught"
    )
    machine = Machine({})
    ran: list[str] = []

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        ran.append(request.name)
        raised = error() if len(ran) == 1 else left
        outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=raised)
        return replace(machine(request, cancel), outcome=outcome, signature=signature_of(outcome))

    found = walk(machine, jobs)
    found.probe, found.ready = probe, lambda: False
    found.first()
    if graph:
        passes, fails = machine(ProbeRequest("g", found.target, "eager", 1.0, Path())), found.start
        found.heard_of_graph({name: fails if name == "inductor" else passes for name in RUNGS})
        assert found.confirmed()
        conclusion = found.conclusion()
    else:
        conclusion = found.settle()
    assert found.spoiled is not None and not conclusion.fails_uncompiled
    assert (conclusion.stage, conclusion.settled) == (Stage.INDUCTOR, graph)
    assert len(ran) <= 7


@pytest.mark.parametrize("lowest", range(1, 5))
def test_a_slow_script_is_run_no_more_than_needed(walk: Callable[..., Walk], lowest: int) -> None:
    machine = Machine({rung: itertools.repeat(error(RUNGS[lowest])) for rung in RUNGS[lowest:]}, seconds=100.0)
    conclusion = go(walk(machine))
    assert conclusion.settled and conclusion.failing.name == RUNGS[lowest]
    assert len(machine.requests) <= 4


@pytest.mark.parametrize("collides", ["uncompiled", "aot_eager_decomp_partition"])
def test_runs_that_were_in_each_others_way_are_asked_again_alone(walk: Callable[..., Walk], collides: str) -> None:
    busy = error(collides if collides in FRAMES else "eager", "the address is in use", "uncaught")
    machine = Machine({"inductor": itertools.repeat(error()), collides: [busy]})
    found = walk(machine, jobs=2)
    conclusion = go(found)
    assert conclusion.stage is Stage.INDUCTOR and f"{collides}-alone" in machine.visited()
    assert [probe.outcome.kind for probe in found.seen[collides]] == [OutcomeKind.OK]


def test_what_ran_beside_a_run_that_collided_counts(walk: Callable[..., Walk]) -> None:
    """The uncompiled run collides with another process; the one beside it is left to end, and alone it passes."""
    fails = itertools.repeat(error("eager"))
    machine = Machine(
        {"uncompiled": [error("eager", "the address is in use", "uncaught")], "eager": fails, "inductor": fails}
    )
    ended = threading.Event()

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        if request.name == "eager":
            assert ended.wait(10)
        found = machine(request, cancel)
        if request.name == "uncompiled":
            ended.set()
        return found

    found = walk(machine, jobs=2)
    found.probe = probe
    assert go(found).stage is Stage.DYNAMO
    assert machine.visited().count("eager") == 1 and "uncompiled-alone" in machine.visited()


class Locked:
    """A program that holds a lock while it runs, on a machine of two cores. Whoever ends it leaves the lock behind."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.held = machine, False
        self.one = threading.Lock()

    def __call__(self, request: ProbeRequest, cancel: Cancel) -> Probe:
        with self.one:
            mine, self.held = not self.held, True
        if not mine:
            raised = error("eager", "another one is running", "uncaught")
            outcome = Outcome(OutcomeKind.EXCEPTION, 0.1, 75, exception=raised)
            return replace(self.machine(request), outcome=outcome, signature=signature_of(outcome))
        limit = time.monotonic() + (0.8 if request.name not in ("as_is", "uncompiled") else 0.1)
        while time.monotonic() < limit:
            if cancel.is_set():
                return self.machine(request, cancel)
            time.sleep(0.01)
        self.held = False
        return self.machine(request)


@pytest.mark.parametrize("guess", ["eager", "inductor"])
def test_who_holds_a_lock_that_another_run_meets_is_left_to_end(walk: Callable[..., Walk], guess: str) -> None:
    """The uncompiled run comes second and fails by the lock. It is asked again once the holder has gone, and passes."""
    machine = Machine({rung: itertools.repeat(error(guess)) for rung in RUNGS[RUNGS.index(guess) :]})
    locked = Locked(machine)
    later = threading.Event()

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        if request.name == "uncompiled":
            later.wait(5)
            time.sleep(0.1)
        elif request.name != "as_is":
            later.set()
        return locked(request, cancel)

    found = walk(machine, jobs=2)
    found.probe = probe
    conclusion = go(found)
    assert (found.spoiled, conclusion.settled) == (None, True)
    assert conclusion.failing.name == guess


@pytest.mark.parametrize("ended", [True, False])
def test_a_script_is_not_blamed_for_what_a_run_left_that_we_ended(walk: Callable[..., Walk], ended: bool) -> None:
    left = RaisedException("SystemExit", "locked", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught")
    machine = Machine(
        {"inductor": itertools.chain([error()], itertools.repeat(left)), "uncompiled": itertools.repeat(left)}
    )

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        return replace(found, notes=replace(found.notes, stopped_early=ended and request.name == "eager"))

    found = walk(machine)
    found.probe = probe
    found.first()
    found.visit([LADDER[1]])
    found.settle()
    assert found.spoiled_by == (("eager",) if ended else ()) and set(found.met) == {"uncompiled"}
    note = met_note(found)
    assert note is not None and ("cannot be run twice" in note) is not ended and ("`eager`" in note) is ended


def test_a_rung_that_really_fails_otherwise_keeps_its_failure(walk: Callable[..., Walk]) -> None:
    other = error("aot_eager", "another one")
    machine = Machine({"inductor": itertools.repeat(error()), "aot_eager": itertools.repeat(other)})
    found = walk(machine, jobs=2)
    assert go(found).stage is Stage.AOT_AUTOGRAD
    assert all(probe.outcome.failed for probe in found.seen["aot_eager"])


def reaching(machine: Machine, point: BoundaryPoint, *rungs: str) -> Callable[..., Probe]:
    """Its runs, which raise at this point on these rungs."""

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        return replace(found, notes=replace(found.notes, point=point)) if request.rung in rungs else found

    return probe


@pytest.mark.parametrize(
    ("reached", "raised", "stage"),
    [
        (BoundaryPoint(4, 2), error("aot_eager", "another one"), Stage.INDUCTOR),  # a call later
        (BoundaryPoint(3, 3), error("aot_eager", "another one"), Stage.INDUCTOR),  # in the backward pass of that call
        (BoundaryPoint(3, 2), error("aot_eager", "another one"), Stage.AOT_AUTOGRAD),  # in that call
        (BoundaryPoint(2, 3), error("aot_eager", "another one"), Stage.AOT_AUTOGRAD),  # before it
        (BoundaryPoint(4, 2), error(), Stage.AOT_AUTOGRAD),  # later, but the same
    ],
)
def test_a_rung_that_comes_past_the_failure_and_fails_by_another_passes(
    walk: Callable[..., Walk], reached: BoundaryPoint, raised: RaisedException, stage: Stage
) -> None:
    below = ("aot_eager", "aot_eager_decomp_partition")
    machine = Machine({"inductor": itertools.repeat(error()), **{name: itertools.repeat(raised) for name in below}})
    found = walk(machine, jobs=2)
    found.probe = reaching(machine, reached, *below)
    assert go(found).stage is stage
    later = [found.seen[name][0].later for name in below if name in found.seen]
    assert all((each is not None) is (stage is Stage.INDUCTOR) for each in later)
    rows = {row.rung: row for row in ladder_rows(found, found.conclusion())}
    note = "past the point of the failure, it fails by TypeError: another one"
    assert (rows[below[1]].note == note) is (stage is Stage.INDUCTOR)


def test_a_script_that_fails_uncompiled_later_is_to_blame(walk: Callable[..., Walk]) -> None:
    """What eager raises in a backward pass a compiler may meet before."""
    other = error("aot_eager", "a variable was modified", "uncaught")
    machine = Machine({"inductor": itertools.repeat(error()), "uncompiled": itertools.repeat(other)})
    found = walk(machine, jobs=2)
    found.probe = reaching(machine, BoundaryPoint(3, 3), "uncompiled")
    assert go(found).stage is Stage.SCRIPT


def test_behind_a_failure_outside_of_any_counted_call_lies_nothing_for_sure() -> None:
    first, later = (
        Probe(name, name, failed := Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=raised), signature_of(failed),
              AgentNotes(point=BoundaryPoint(calls, 0)), Path("x"))
        for name, raised, calls in (("inductor", error(), 1), ("aot_eager", error("aot_eager", "another one"), 2))
    )  # fmt: skip
    assert passed_it(later, first, BoundaryPoint(1, 0)).later == later.signature
    assert passed_it(later, first, BoundaryPoint(0, 0)) is later and passed_it(later, first, None) is later


def test_a_failed_check_of_the_program_leaves_no_point_to_come_past(walk: Callable[..., Walk]) -> None:
    """What it saw may come of anything before."""
    other = error("aot_eager", "another one")
    machine = Machine({"inductor": itertools.repeat(error(phase="uncaught")), "aot_eager": itertools.repeat(other)})
    found = walk(machine, jobs=2)
    found.probe = reaching(machine, BoundaryPoint(9, 9), "aot_eager")
    assert go(found).failing is LADDER[2]


class Handles(Machine):
    """Its program handles what is raised on the lower rungs, and ends well there."""

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = super().__call__(request, cancel)
        if found.outcome.exception is None or not found.outcome.exception.swallowed:
            return found
        outcome = (
            Outcome(OutcomeKind.OK, 1.0, 0) if request.rung == "uncompiled" else replace(found.outcome, exit_code=0)
        )
        return replace(found, outcome=outcome, signature=signature_of(outcome))


def test_what_the_program_handles_uncompiled_too_is_asked_once(walk: Callable[..., Walk]) -> None:
    refused = replace(error("aot_eager", "targets between 0 and 1", phase="call"), swallowed=True)
    lower = {rung: itertools.repeat(refused) for rung in ("uncompiled", "eager", "aot_eager")}
    own = RaisedException(
        "AssertionError", "nothing was raised", (Frame("/home/ann/check.py", 3, "main"),), phase="uncaught"
    )
    machine = Handles({**lower, **{rung: itertools.repeat(own) for rung in RUNGS[3:]}})
    assert go(walk(machine, jobs=2)).stage is Stage.DECOMP_PARTITION
    assert [name for name in machine.visited() if name.endswith("-alone")] == []


def test_a_program_with_ranks_runs_one_at_a_time(walk: Callable[..., Walk]) -> None:
    found = walk(Machine({}), jobs=4)
    assert found.jobs() == 4
    note = AgentNotes(True, distributed=True)
    found.seen["inductor"] = [Probe("as_is", None, Outcome(OutcomeKind.OK), None, note, Path("x"))]
    assert found.jobs() == 1


def test_a_script_that_fails_uncompiled_is_not_walked_further(walk: Callable[..., Walk]) -> None:
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS})
    assert go(walk(machine)).stage is Stage.SCRIPT
    assert machine.visited() == ["as_is", "uncompiled"]


IN_PLACE = in_place_of("torch.export")


@pytest.mark.parametrize(
    ("in_place", "stage"),
    [
        (None, Stage.DYNAMO),
        (RaisedException("TypeError", "forward() takes 2 positional arguments", phase="uncaught"), Stage.DYNAMO),
        (RaisedException("RuntimeError", "mat1 and mat2 cannot be multiplied", phase="uncaught"), Stage.SCRIPT),
        (OutcomeKind.CRASH, Stage.SCRIPT),
    ],
)
def test_nor_is_one_that_fails_behind_another_door(
    walk: Callable[..., Walk], in_place: RaisedException | OutcomeKind | None, stage: Stage
) -> None:
    """But for one run with a plain call in the door's place: who fails there has a fault of its own."""
    frames = [Frame("/home/ann/export.py", 3, "main"), Frame(f"{SITE}/export/__init__.py", 9, "export")]
    frames.append(Frame(f"{SITE}/_dynamo/symbolic_convert.py", 9, "run"))
    failure = RaisedException("torch._dynamo.exc.UserError", "no", tuple(frames), phase="uncaught")
    machine = Machine({rung: itertools.repeat(failure) for rung in RUNGS} | {IN_PLACE: [in_place]})
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (stage, Symptom.EXCEPTION)
    assert (conclusion.door is None) == (stage is Stage.SCRIPT)
    assert machine.visited() == ["as_is", "uncompiled", "in-place"]


def test_what_runs_beside_a_script_that_fails_uncompiled_is_ended(walk: Callable[..., Walk]) -> None:
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS})
    heard: list[Event] = []
    beside = threading.Event()

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        if request.name == "uncompiled":
            beside.wait(10)
        elif request.name != "as_is":
            beside.set()
            while not cancel.is_set():
                time.sleep(0.01)
        return machine(request, cancel)

    found = walk(machine, jobs=3, heard=heard)
    found.probe = probe
    assert go(found).stage is Stage.SCRIPT
    assert set(found.seen) == {"inductor", "uncompiled"} and not found.session.cancel.is_set()
    assert [event.kind for event in heard].count("probe_cancelled") >= 1


def test_probes_that_pass_may_stop_after_the_point_of_the_failure(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(error())})
    go(walk(machine))
    assert machine.requests[0].stop_after is None
    assert all(request.stop_after == BoundaryPoint(3, 2) for request in machine.requests[1:])
    checked = Machine({"inductor": itertools.repeat(error(phase="uncaught"))})
    go(walk(checked))  # a check of the script's own may come at its very end
    assert all(request.stop_after is None for request in checked.requests)


def test_the_scripts_own_backend_is_a_rung_above_the_others(walk: Callable[..., Walk]) -> None:
    machine = Machine({"as_is": itertools.repeat(error())}, (CompileCall("strict", custom_backend=True),))
    conclusion = go(walk(machine))
    assert conclusion.stage is Stage.BACKEND and conclusion.settled
    assert machine.requests[0].rung is None and "inductor" in machine.visited()


def test_a_lower_backend_has_a_shorter_ladder(walk: Callable[..., Walk]) -> None:
    machine = Machine({"aot_eager": itertools.repeat(error("aot_eager"))}, (CompileCall("aot_eager"),))
    assert go(walk(machine)).stage is Stage.AOT_AUTOGRAD
    assert not any(request.rung == "inductor" for request in machine.requests)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_script_that_fails_once_it_has_run_is_asked_uncompiled_first(walk: Callable[..., Walk], jobs: int) -> None:
    left = itertools.chain([None], itertools.repeat(error(phase="uncaught")))
    machine = Machine({"inductor": left, "uncompiled": itertools.repeat(error(phase="uncaught"))})
    found = walk(machine, jobs=jobs)
    found.ready = lambda: False
    assert go(found).stage is Stage.SCRIPT
    assert machine.visited() == ["as_is", "inductor-2", "inductor-3", "uncompiled"]


def test_what_ran_uncompiled_before_is_asked_again_then(walk: Callable[..., Walk]) -> None:
    def left() -> Iterator[RaisedException | None]:
        return itertools.chain([None], itertools.repeat(error(phase="uncaught")))

    machine = Machine({"inductor": left(), "uncompiled": left()})
    found = walk(machine)
    found.first()
    found.visit([UNCOMPILED])
    assert found.settle().stage is Stage.SCRIPT
    assert machine.visited()[-1] == "uncompiled-2"


def test_a_slow_script_whose_check_failed_while_it_was_compared_is_asked_again(walk: Callable[..., Walk]) -> None:
    left = itertools.chain([None], itertools.repeat(error(phase="uncaught")))
    found = walk(Machine({"inductor": left, "uncompiled": itertools.repeat(error(phase="uncaught"))}, seconds=100.0))
    found.first()
    assert found.settle().symptom is Symptom.NONE and len(found.seen["inductor"]) == 1
    found.compared = found.ask(found.rungs[found.top], "as_is-compared")
    assert found.settle().stage is Stage.SCRIPT
