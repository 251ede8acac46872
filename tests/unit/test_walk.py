"""The walk along the ladder, with a target that fails as we say: which rungs are visited, and what is concluded."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import FRAMES, RUNGS, SITE, Machine, error, walk_of

from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.locate.ladder import suspect
from triage.locate.walk import Walk
from triage.model.outcome import AgentNotes, BoundaryPoint, CompileCall, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER, UNCOMPILED, in_place_of
from triage.model.stage import OutcomeKind, OwnFault, Stage, Symptom
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest
from triage.session.clock import BudgetSpentError, Clock
from triage.session.events import Event
from triage.stories.headline import summary_sentence
from triage.stories.met import met_note


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


def go(found: Walk) -> Conclusion:
    found.first()
    return found.settle()


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


def test_nor_is_one_that_hangs_uncompiled(walk: Callable[..., Walk]) -> None:
    machine = Machine({rung: itertools.repeat(OutcomeKind.HANG) for rung in RUNGS}, seconds=300.0)
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (Stage.SCRIPT, Symptom.HANG)
    assert machine.visited() == ["as_is", "uncompiled"]


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


def test_a_flake_that_shows_below_only_once_repeated_moves_the_stage(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": [error(), None, error()], "aot_eager_decomp_partition": [None, error()]})
    conclusion = go(walk(machine))
    assert conclusion.failing.name == "aot_eager_decomp_partition"


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


def test_a_hang_is_not_repeated(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)}, seconds=300.0)
    conclusion = go(walk(machine))
    assert (conclusion.stage, conclusion.symptom) == (Stage.INDUCTOR, Symptom.HANG)
    assert [request.rung for request in machine.requests].count("inductor") == 0  # as_is stands for it


def test_a_probe_cut_by_the_budget_is_no_hang(walk: Callable[..., Walk]) -> None:
    machine = Machine({"inductor": itertools.repeat(OutcomeKind.HANG)}, seconds=300.0)
    found = walk(machine, budget=100.0)
    with pytest.raises(BudgetSpentError):
        found.first()
    assert found.seen == {} and not found.conclusion().settled


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


@pytest.mark.parametrize(
    ("stack", "stage"), [("_dynamo/symbolic_convert.py", 1), ("_inductor/sizevars.py", 4), ("", 4)]
)
def test_a_hang_is_looked_for_where_its_stack_points(stack: str, stage: int) -> None:
    outcome = Outcome(OutcomeKind.HANG, 300.0, detail="compile frame 0", stacks=f'File "{SITE}/{stack}", line 3')
    signature = signature_of(outcome)
    assert signature is not None
    assert suspect(signature, outcome) is LADDER[stage].stage


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
