"""How a walk along the ladder ends early: hangs, a spent budget, an interrupt."""

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import RUNGS, SITE, Machine, error, go, walk_of

from triage.cli.view import _State
from triage.judge.signature import signature_of
from triage.locate.ladder import suspect
from triage.locate.walk import Walk
from triage.model.outcome import Outcome
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.probe.starvation import StandsStill
from triage.session.clock import BudgetSpentError, Clock
from triage.session.events import Event


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


def test_nor_is_one_that_hangs_uncompiled(walk: Callable[..., Walk]) -> None:
    machine = Machine({rung: itertools.repeat(OutcomeKind.HANG) for rung in RUNGS}, seconds=300.0)
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (Stage.SCRIPT, Symptom.HANG)
    assert machine.visited() == ["as_is", "uncompiled"]


def test_a_hang_that_fails_uncompiled_is_not_waited_for_again(walk: Callable[..., Walk]) -> None:
    """It may be that what it left behind made the uncompiled run fail: then it fails so too, and as soon."""
    own = replace(error(), type="LookupError", phase=None)
    machine = Machine(
        {"inductor": itertools.repeat(OutcomeKind.HANG), "uncompiled": itertools.repeat(own)}, seconds=70.0
    )
    assert go(walk(machine)).stage is Stage.SCRIPT
    assert [request.timeout for request in machine.requests if request.name == "as_is-again"] == [140.0]


def test_a_hang_is_not_repeated(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)}, seconds=300.0)
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (Stage.INDUCTOR, Symptom.HANG)
    assert [request.rung for request in machine.requests].count("inductor") == 0  # as_is stands for it


def test_a_probe_cut_by_the_budget_is_no_hang(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)}, seconds=300.0)
    found, state = walk(machine, budget=100.0), _State()
    found.session.emit.add(state.listen)
    with pytest.raises(BudgetSpentError):
        found.first()
    assert found.seen == {} and not found.conclusion().settled
    assert "as_is" not in state.waits_for()  # while the report is written


@pytest.mark.parametrize(("budget", "spare"), [(None, 90.0), (350.0, 50.0), (100.0, 0.0)])
def test_what_a_run_waits_for_a_processor_is_given_to_it_besides_within_the_budget(
    walk: Callable[..., Walk], budget: float | None, spare: float
) -> None:
    machine = Machine({})
    walk(machine, budget=budget).first()
    assert machine.requests[0].spare == pytest.approx(spare, abs=2.0)


def test_a_hang_that_is_known_from_an_earlier_run_takes_nothing_of_the_budget(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)}, seconds=300.0)
    found = walk(machine, budget=100.0)
    found.probe = lambda request, cancel: machine(replace(request, timeout=300.0), cancel)  # as it was then
    assert found.first().outcome.kind is OutcomeKind.HANG


def test_a_spent_budget_leaves_what_was_seen(walk: Callable[..., Walk]) -> None:
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS[4:]})
    found = walk(machine, budget=100.0)
    found.first()
    found.session.clock = Clock(0.001)
    time.sleep(0.01)
    with pytest.raises(BudgetSpentError):
        found.settle()
    assert found.conclusion().symptom is Symptom.EXCEPTION and not found.conclusion().settled


def test_an_interrupt_ends_the_probes_that_run(walk: Callable[..., Walk]) -> None:
    machine = Machine({rung: itertools.repeat(error()) for rung in RUNGS[4:]})
    cancels: list[Cancel] = []

    def probe(request: ProbeRequest, cancel: Cancel) -> Probe:
        if request.name == "as_is":
            return machine(request, cancel)
        cancels.append(cancel)
        if len(cancels) == 1:
            raise KeyboardInterrupt
        return machine(request, cancel)

    found = walk(machine, jobs=2)
    found.probe = probe
    found.first()
    with pytest.raises(KeyboardInterrupt):
        found.settle()
    assert cancels[0].is_set() and found.seen["inductor"]


def test_what_goes_on_is_told(walk: Callable[..., Walk]) -> None:
    heard: list[Event] = []
    go(walk(Machine({"inductor": itertools.repeat(error())}), heard=heard))
    kinds = [event.kind for event in heard if event.kind != "probe_facts"]
    assert kinds[:4] == ["probe_started", "ladder", "probe_ended", "probe_started"]
    assert kinds.count("probe_started") == kinds.count("probe_ended")
    assert {event.facts["face"] for event in heard if event.kind == "probe_ended"} == {"same", None}


def test_how_a_run_ended_is_told_by_what_tells_most(walk: Callable[..., Walk]) -> None:
    heard: list[Event] = []
    text = "RuntimeError when making fake tensor call\n  Explanation: add(...): got RuntimeError('no such size')"
    go(walk(Machine({"inductor": itertools.repeat(error(message=text))}), heard=heard))
    told = [event.facts["message"] for event in heard if event.kind == "probe_ended"]
    assert "no such size" in told and text[:20] not in str(told)


@pytest.mark.parametrize(
    ("stack", "stage"), [("_dynamo/symbolic_convert.py", 1), ("_inductor/sizevars.py", 4), ("", 4)]
)
def test_a_hang_is_looked_for_where_its_stack_points(stack: str, stage: int) -> None:
    outcome = Outcome(OutcomeKind.HANG, 300.0, detail="compile frame 0", stacks=f'File "{SITE}/{stack}", line 3')
    signature = signature_of(outcome)
    assert signature is not None
    assert suspect(signature, outcome) is LADDER[stage].stage


@pytest.mark.parametrize(
    ("hangs", "seconds", "enough"), [*((rung, 1.0, 40.0) for rung in RUNGS[:3]), ("uncompiled", 50.0, 100.0)]
)
def test_a_rung_that_hangs_where_the_script_raises_is_asked_once_more(
    walk: Callable[..., Walk], hangs: str, seconds: float, enough: float
) -> None:
    """Processes of a program with ranks may wait for each other at the end, in one run of many."""
    fails = {rung: itertools.repeat(error(RUNGS[3])) for rung in RUNGS[3:]}
    machine = Machine({**fails, hangs: [OutcomeKind.HANG]}, seconds=seconds)
    found = walk(machine)
    assert go(found).stage is Stage.DECOMP_PARTITION
    assert [probe.outcome.kind for probe in found.seen[hangs]] == [OutcomeKind.OK]
    asked = {request.name: request.late for request in machine.requests}
    # Only the first of the two is ended early, once it has done nothing for twice what the script took.
    late = asked[hangs]
    assert isinstance(late, StandsStill) and late.seconds == enough
    assert asked[f"{hangs}-alone"] is None


def test_rungs_below_a_hang_are_given_many_times_what_passes(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        found = machine(request, cancel)
        seconds = request.timeout if found.outcome.failed else 8.0
        return replace(found, outcome=replace(found.outcome, seconds=seconds))

    found = walk(machine)
    found.probe = probe
    assert go(found).symptom is Symptom.HANG
    assert [(request.rung, request.timeout) for request in machine.requests] == [
        (None, 300.0),
        ("uncompiled", 300.0),
        ("aot_eager_decomp_partition", 160.0),
    ]


def test_an_interrupt_among_seeded_runs_ends_them(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.cycle([error(), None])})

    def probe(request: ProbeRequest, cancel: Cancel | None = None) -> Probe:
        if request.seed is not None:
            raise KeyboardInterrupt
        return machine(request, cancel)

    found = walk(machine)
    found.probe = probe
    with pytest.raises(KeyboardInterrupt):
        go(found)
    assert found.session.cancel.is_set()


def test_where_the_script_hangs_the_other_runs_print_no_graphs(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)}, seconds=300.0)
    go(walk(machine))
    first, *others = machine.requests
    assert first.verbose_logs and others
    assert not any(request.verbose_logs or "+dynamo" in request.extra_env["TORCH_LOGS"] for request in others)
    machine = Machine({"inductor": itertools.repeat(error())})
    go(walk(machine))
    assert all(request.verbose_logs for request in machine.requests)
