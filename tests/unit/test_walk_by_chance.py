"""The walk along the ladder where chance, or what runs leave behind, decides: repeats, seeds, runs that compile nothing."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from walk_machine import RUNGS, Machine, error, go, walk_of

from triage.judge.signature import signature_of
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Frame, Outcome, RaisedException
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, OwnFault, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.stories.headline import summary_sentence
from triage.stories.spoiled import met_note


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


def test_a_script_that_passes_is_given_some_more_chances_to_fail(walk: Callable[..., Walk]) -> None:
    machine = Machine({})
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (Stage.NONE, Symptom.NONE)
    assert sorted(machine.visited()) == ["as_is", "inductor-2", "inductor-3"]


def test_a_failure_that_does_not_come_at_first_is_waited_for(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": [None, error(), None, error(), error(), None]})
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (Stage.INDUCTOR, Symptom.NONDETERMINISTIC)
    assert 0 < conclusion.failures < conclusion.runs


def test_a_failure_that_does_not_come_back_is_repeated_until_its_rate_is_known(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": [error(), None, None, error(), None]})
    conclusion = go(walk(machine))
    assert conclusion.symptom is Symptom.NONDETERMINISTIC
    assert (conclusion.runs, conclusion.failures) == (5, 2)
    assert (
        conclusion.passing is not None
        and len([n for n in machine.visited() if n.startswith(conclusion.passing.name)]) == 5
    )


def test_where_eager_was_seen_to_vary_the_uncompiled_script_is_repeated_first(walk: Callable[..., Walk]) -> None:
    check = RaisedException("AssertionError", "few", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught")
    machine = Machine(
        {
            "inductor": [check, None],
            "eager": itertools.repeat(check),
            "aot_eager": [None, check],
            "uncompiled": [None, check],
        }
    )
    found = walk(machine)
    found.first()
    found.checked_first = replace(found.start, notes=AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",)))
    assert found.settle().stage is Stage.SCRIPT
    assert not [name for name in machine.visited() if "seed" in name or name in ("eager-2", "eager-3")]


@pytest.mark.parametrize(("notes", "again"), [({"compared": 1}, 0), ({"compared": 1, "unsteady": ("output 0",)}, 1)])
@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_a_run_that_compares_right_graphs_and_fails_alike_counts_as_another(
    walk: Callable[..., Walk], notes: dict[str, Any], again: int, seconds: float
) -> None:
    check = RaisedException("AssertionError", "drift", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught")
    machine = Machine({"inductor": itertools.repeat(check)}, seconds=seconds)
    found = walk(machine)
    found.first()
    found.checked_first = replace(found.start, notes=AgentNotes(**notes))
    conclusion = found.settle()
    assert (conclusion.stage, conclusion.runs, conclusion.failures) == (Stage.INDUCTOR, 2, 2)
    assert len([name for name in machine.visited() if name.startswith("inductor")]) == again


def test_a_flake_that_shows_below_only_once_repeated_moves_the_stage(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": [error(), None, error()], "aot_eager_decomp_partition": [None, error()]})
    conclusion = go(walk(machine))
    assert conclusion.failing.name == "aot_eager_decomp_partition"


def test_a_check_that_depends_on_the_random_stream_is_not_blamed(walk: Callable[..., Walk]) -> None:
    check = RaisedException(
        "AssertionError", "masks differ", (Frame("/home/ann/train.py", 3, "main"),), phase="uncaught"
    )
    machine = Machine({rung: itertools.repeat(check) for rung in RUNGS[3:]})

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        if not request.other_stream:
            return machine(request, cancel)
        outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=check)
        return Probe(request.name, request.rung, outcome, signature_of(outcome), AgentNotes(started=True), Path("x"))

    found = walk(machine)
    found.probe = probe
    conclusion = go(found)
    assert conclusion.random_check and conclusion.stage is Stage.NONE


@pytest.mark.parametrize(("line", "stage"), [(3, Stage.SCRIPT), (4, Stage.DYNAMO)])
def test_a_branch_for_compiled_runs_that_fails_uncompiled_is_the_scripts_own(
    walk: Callable[..., Walk], line: int, stage: Stage
) -> None:
    place = Frame("/home/ann/train.py", 3, "forward")
    traced = RaisedException("TorchRuntimeError", "with fake tensors: no broadcast", (), user_code=(place,))
    eager = RaisedException("RuntimeError", "sizes must match", (replace(place, line=line),), phase="call")
    machine = Machine({rung: itertools.repeat(traced) for rung in RUNGS[1:]})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        if request.rung != UNCOMPILED.name:
            return found
        outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=eager) if request.as_compiled else found.outcome
        notes = replace(found.notes, asked_if_compiled=("train.py:9",))
        return replace(found, outcome=outcome, signature=signature_of(outcome), notes=notes)

    found = walk(machine)
    found.probe = probe
    conclusion = go(found)
    assert conclusion.stage is stage and (conclusion.own_fault is OwnFault.OWN_BRANCH) == (stage is Stage.SCRIPT)
    assert conclusion.asked_at == (("train.py:9",) if stage is Stage.SCRIPT else ())


def test_a_branch_for_compiled_runs_that_never_ends_uncompiled_either_is_the_scripts_own(
    walk: Callable[..., Walk],
) -> None:
    """What it was in when it was ended has another name there."""
    hang, plain = (Outcome(OutcomeKind.HANG, 50.0, detail=detail) for detail in ("run graph 0/0", ""))
    machine = Machine({})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        notes = replace(found.notes, asked_if_compiled=("train.py:9",))
        outcome = found.outcome
        if request.rung != UNCOMPILED.name or request.as_compiled:
            outcome = plain if request.as_compiled else hang
        return replace(found, outcome=outcome, signature=signature_of(outcome), notes=notes)

    found = walk(machine)
    found.probe = probe
    conclusion = go(found)
    assert conclusion.stage is Stage.SCRIPT and conclusion.own_fault is OwnFault.OWN_BRANCH


@pytest.mark.parametrize("uncompiled", [True, False])
def test_a_seed_with_which_it_fails_every_time_is_asked_uncompiled(walk: Callable[..., Walk], uncompiled: bool) -> None:
    machine = Machine({"inductor": itertools.cycle([error(), None])})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        if request.seed is None or (request.rung == "uncompiled" and not uncompiled):
            return found
        outcome = (
            Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error()) if request.seed == 2 else Outcome(OutcomeKind.OK)
        )
        return replace(found, outcome=outcome, signature=signature_of(outcome))

    found = walk(machine)
    found.probe = probe
    assert go(found).stage is (Stage.SCRIPT if uncompiled else Stage.INDUCTOR)
    assert machine.visited().count("uncompiled-seed-2") == 1


@pytest.mark.parametrize(("decided", "seeds"), [(True, 4), (False, 1)])
def test_fixed_seeds_tell_whether_random_numbers_decide(walk: Callable[..., Walk], decided: bool, seeds: int) -> None:
    machine = Machine({"inductor": itertools.cycle([error(), None])})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        if decided and request.seed is not None:
            outcome = Outcome(OutcomeKind.OK, 1.0, 0) if request.seed % 2 else Outcome(OutcomeKind.CRASH, 1.0, -11)
            return Probe(request.name, request.rung, outcome, signature_of(outcome), found.notes, Path("x"))
        return found

    found = walk(machine)
    found.probe = probe
    assert go(found).symptom is Symptom.NONDETERMINISTIC
    assert len(found.seeded) == seeds
    assert all(failures in (0, runs) for runs, failures in found.seeded.values()) is decided
    assert {request.seed for request in machine.requests} == {None, *range(seeds)}


class Resumes:
    """A script that fails in what it compiles, and where an earlier run was left to its end goes on from its checkpoint."""

    def __init__(self, machine: Machine, left: bool = False, by_chance: tuple[bool, ...] = ()) -> None:
        self.machine, self.left, self.by_chance = machine, left, iter(by_chance)
        self.names: list[str] = []

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        self.names.append(request.name)
        idle = next(self.by_chance, self.left) and request.rung != "uncompiled"
        probe = self.machine(request, cancel)
        if idle:
            return replace(probe, outcome=Outcome(OutcomeKind.OK, 1.0, 0), signature=None)
        self.left = self.left or request.rung == "uncompiled"
        graphs = 0 if request.rung == "uncompiled" else 1
        return replace(probe, notes=replace(probe.notes, graphs=graphs))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("graph", [True, False])
def test_a_run_that_goes_on_from_a_checkpoint_and_compiles_nothing_is_no_pass_of_its_rung(
    walk: Callable[..., Walk], jobs: int, graph: bool
) -> None:
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS[2:]})
    found = walk(machine, jobs)
    found.probe, found.ready = Resumes(machine), lambda: False
    found.first()
    if graph:
        found.confirm_beside()
        passes, fails = machine(ProbeRequest("g", found.target, "eager", 1.0, Path())), found.start
        found.heard_of_graph({name: fails if name in RUNGS[2:] else passes for name in RUNGS})
        assert found.confirmed()
        conclusion = found.conclusion()
        assert (conclusion.stage, conclusion.settled, found.on_graph != {}) == (Stage.AOT_AUTOGRAD, True, True)
    else:
        conclusion = found.settle()
        assert not conclusion.settled
    assert found.spoiled is not None and conclusion.failures == conclusion.runs
    assert "checkpoint" in (met_note(found) or "")


class ByChance(Machine):
    """A script that fails in two of its runs; what it compiles is called in the others alone, or in all of them."""

    def __init__(self, always: bool, error: RaisedException | OutcomeKind) -> None:
        super().__init__({"as_is": [error], "inductor": [None, error]})
        self.always = always

    def __call__(self, request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        probe = super().__call__(request, cancel)
        called = int(self.always or not probe.outcome.failed)
        return replace(probe, notes=replace(probe.notes, graphs=called, point=BoundaryPoint(called, 0)))


RAISED = RaisedException("ValueError", "x", (Frame("/home/ann/x.py", 3, "main"),), phase="uncaught")


@pytest.mark.parametrize(
    ("calls", "error", "own"),
    [
        (True, RAISED, False),
        (False, RAISED, True),
        (False, OutcomeKind.CRASH, False),
    ],  # who dies tells not how far it was
)
def test_a_run_that_fails_before_it_compiles_is_the_scripts_own(
    walk: Callable[..., Walk], calls: bool, error: RaisedException | OutcomeKind, own: bool
) -> None:
    conclusion = go(walk(ByChance(calls, error)))
    assert conclusion.symptom is Symptom.NONDETERMINISTIC and 0 < conclusion.failures < conclusion.runs
    assert (conclusion.stage is Stage.SCRIPT, conclusion.compiled_nothing) == (own, own)


def test_runs_that_pass_and_compile_nothing_show_nothing_of_the_compiler(walk: Callable[..., Walk]) -> None:
    machine = Machine({}, calls=(CompileCall(None),))
    found = walk(machine)
    found.probe = lambda request, cancel: replace(
        machine(request, cancel), notes=AgentNotes(True, "2.13.0", compile_calls=machine.calls)
    )
    conclusion = go(found)
    assert (conclusion.symptom, conclusion.compiled_nothing) == (Symptom.NONE, True)
    assert "none of 3 runs compiled anything" in summary_sentence(conclusion, found.start, None)


def test_a_script_that_passed_until_the_run_was_interrupted_is_not_said_to_give_nothing_to_report(
    walk: Callable[..., Walk],
) -> None:
    found = walk(Machine({}, calls=(CompileCall(None),)))
    conclusion = go(found)
    assert "nothing to report" in summary_sentence(conclusion, found.start, None)
    said = summary_sentence(conclusion, found.start, "interrupted")
    assert said == "The script passes in 3 runs, and was not looked into any further (interrupted)."


def test_a_run_that_takes_another_way_by_chance_is_asked_again(walk: Callable[..., Walk]) -> None:
    """The rung below the failing one passes at first only since nothing was compiled; the script as it is fails once more."""
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS[2:]}, seconds=100.0)
    found = walk(machine)
    found.probe = probe = Resumes(machine, by_chance=(False, False, True, *[False] * 20))
    conclusion = go(found)
    assert probe.names[2:4] == ["aot_eager_decomp_partition", "as_is-again"]
    assert (conclusion.stage, conclusion.settled, found.spoiled) == (Stage.AOT_AUTOGRAD, True, None)
    assert "aot_eager_decomp_partition" not in found.seen or found.seen["aot_eager_decomp_partition"][0].outcome.failed
