"""A wrong value that only the agent saw: it becomes the failure, and the rungs are judged alike."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import walk_of
from wrong_values import EVENTS, FAILS, GRADIENT, NAN, OUTPUT, Checking, checked, ran

from triage.judge.signature import signature_of
from triage.locate import comparing
from triage.locate.outcomes import is_comparison, is_script_check
from triage.locate.told import ROUGH, Told
from triage.locate.walk import Walk
from triage.model.accuracy import Check, Comparison, GraphCall, WrongResult
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom
from triage.probe import interpret
from triage.probe.notes import agent_notes
from triage.probe.run import Probe, ProbeRequest
from triage.stories.accuracy_notes import comparison_note, dropout_note
from triage.stories.findings import Findings
from triage.stories.notes import notes_of


def test_the_first_wrong_value_is_the_failure_of_a_program_that_passes() -> None:
    notes = agent_notes(EVENTS)
    assert (notes.compared, notes.backwards) == (7, 3)
    assert notes.not_compared == ("graph 0/0: an input is a DTensor",)
    assert (notes.wrong.graph, notes.wrong.call, notes.wrong.shape) == ("0/1", 4, (2, 3))
    outcome = ran(notes)
    assert outcome.kind is OutcomeKind.WRONG_RESULT and is_comparison(outcome) and not is_script_check(outcome)
    assert signature_of(outcome) == signature_of(ran(notes))


def test_a_failure_of_the_program_itself_stays_what_it_is() -> None:
    failed = Outcome(OutcomeKind.CRASH, 1.0, -11, "SIGSEGV")
    assert interpret.with_comparison(failed, agent_notes(EVENTS)) is failed


def test_the_numbers_are_told() -> None:
    told = WrongResult(
        "0/0", 1, "output 0", "forward", wrong=1, elements=6, at=(1, 2), eager=1.0, compiled=2.5, exact=1.0
    )
    assert "1 of 6 elements are wrong, the worst at (1, 2): compiled 2.5, eager 1, float64 1." in told.details()
    whole = WrongResult("0/0", 1, "output 0", "forward", dtype="int64")
    assert whole.headline() == "output 0 of a compiled graph is not what eager gives"
    strides = WrongResult(
        "0/0",
        1,
        "output 0",
        "forward",
        kind="strides",
        words="strides are (1, 2) compiled, (2, 1) in eager",
        dtype="float32",
        shape=(2, 2),
    )
    assert strides.details() == "Graph 0/0, call 1, float32 of shape (2, 2)."
    assert replace(strides, kind="dtype").details() == "Graph 0/0, call 1."
    assert strides.headline() == "output 0 of a compiled graph: strides are (1, 2) compiled, (2, 1) in eager"


def test_a_comparison_that_blames_nobody_says_what_it_did() -> None:
    def note(notes: AgentNotes, kind: OutcomeKind = OutcomeKind.OK) -> str:
        return str(comparison_note(Probe("p", None, Outcome(kind), None, notes, Path("x"))))

    assert note(AgentNotes(wrongs=(GRADIENT,), compared=1)) == "None"
    stopped = Probe("p", None, FAILS, None, AgentNotes(wrongs=(GRADIENT,), graphs=2, stopped_early=True), Path("x"))
    assert comparison_note(stopped, graphs=2) is None
    assert str(comparison_note(stopped, graphs=5)).startswith(
        "Graphs that the script compiles later (3, after call 4 of graph 0/1)"
    )
    assert note(AgentNotes(compared=3)).startswith("3 calls of compiled graphs were compared with eager")
    skipped = note(AgentNotes(not_compared=("graph 0/0: a DTensor",)))
    assert skipped == "No call of a compiled graph could be compared with eager (graph 0/0: a DTensor)."
    for kind, told in ((OutcomeKind.HANG, "hang"), (OutcomeKind.WRONG_RESULT, "wrong result")):
        assert note(AgentNotes(compared=1), kind).endswith(f" The run that compares ended early: {told}.")


def test_a_failure_that_goes_with_dropout_is_told() -> None:
    """The run that compares switches dropout off; where the check of the script passes then, that is what it needs."""

    def note(notes: AgentNotes, kind: OutcomeKind = OutcomeKind.OK) -> str | None:
        return dropout_note(Probe("aot_eager-compared", "aot_eager", Outcome(kind), None, notes, Path("x")))

    off = AgentNotes(compared=9, without_dropout=True)
    assert str(note(off)).startswith(
        "With dropout switched off in its compiled graphs the script passes with `aot_eager`: the failure needs dropout."
    )
    assert note(off, OutcomeKind.EXCEPTION) is None and note(replace(off, stopped_early=True)) is None
    assert note(replace(off, without_dropout=False)) is None and note(replace(off, wrongs=(GRADIENT,))) is None


class Machine:
    """A target that raises nothing. From the rung `wrong` upwards a graph gives a wrong value, if somebody compares."""

    def __init__(self, wrong: str | None) -> None:
        self.wrong = wrong
        self.requests: list[ProbeRequest] = []

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.requests.append(request)
        names = ("uncompiled", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
        rung = names.index(request.rung or "inductor")
        hit = request.accuracy is not None and self.wrong is not None and rung >= names.index(self.wrong)
        calls, wrongs = (CompileCall(None),), (GRADIENT,) if hit else ()
        graphs = 1 if hit else 3  # it ends at the wrong value
        told = {"compile_calls": calls, "graphs": graphs, "backwards": 2, "wrongs": wrongs, "stopped_early": hit}
        notes = AgentNotes(True, "2.13.0", **told)
        outcome = ran(notes)
        return Probe(request.name, request.rung, outcome, signature_of(outcome), notes, Path("x"))


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


def test_the_walk_goes_on_with_the_comparison(walk: Callable[..., Walk]) -> None:
    machine = Machine("aot_eager_decomp_partition")
    it = walk(machine)
    it.first()
    assert comparing.worth_comparing(it)
    comparing.compare(it)
    found = it.settle()
    assert (found.stage, found.symptom) == (Stage.DECOMP_PARTITION, Symptom.WRONG_RESULT)
    assert found.direction is Direction.BACKWARD and found.settled and found.failures == found.runs
    assert machine.requests[0].accuracy is None
    assert machine.requests[1].accuracy == Comparison(gradients=True, stop=True)
    later = {request.accuracy for request in machine.requests[2:]}
    assert later == {Comparison(gradients=True, stop=True, until=GraphCall("0/1", 4))}
    noted = notes_of(Findings(it.session, it.target, (), it), found)
    assert any(
        note.startswith("Graphs that the script compiles later (2, after call 4 of graph 0/1)") for note in noted
    )


def test_where_nothing_is_wrong_the_other_rungs_are_not_compared(walk: Callable[..., Walk]) -> None:
    machine = Machine(None)
    it = walk(machine)
    it.first()
    assert comparing.compare(it) is None
    assert it.settle().stage is Stage.NONE
    assert [request.name for request in machine.requests if request.accuracy is not None] == ["as_is-compared"]


@pytest.mark.parametrize("others", [False, True])
def test_every_call_is_compared_where_what_is_printed_tells_that_something_is_wrong(
    walk: Callable[..., Walk], others: bool
) -> None:
    it = walk(Machine(None))
    it.first()
    told = Told({}, (), "it prints `2` where the uncompiled run prints `1`", lambda _: {}, ROUGH)
    it.once_others = (told, {}) if others else None
    comparing.compare(it)
    assert it.compared is not None and it.probe.requests[-1].accuracy.every is others


def test_never_is_never(walk: Callable[..., Walk]) -> None:
    it = walk(Machine("inductor"), accuracy="never")
    it.first()
    assert not comparing.worth_comparing(it)


def test_a_failing_check_is_known_by_what_is_wrong_with_a_graph(walk: Callable[..., Walk]) -> None:
    it, machine = checked(walk, AgentNotes(wrongs=(GRADIENT, NAN), compared=1))
    found = it.conclusion()
    assert (found.stage, found.symptom) == (Stage.AOT_AUTOGRAD, Symptom.WRONG_RESULT)
    assert found.signature.wrong == GRADIENT.wrongness
    assert found.direction is Direction.BACKWARD
    assert found.signature.exception_type == "AssertionError"  # what the person saw stays
    assert machine.requests[-1].rung == "aot_eager" and machine.requests[-1].accuracy is not None


LOSS = replace(OUTPUT, item="output 0", elements=1, dtype="float32", eager=1.5, compiled=8.5)


ENERGY = replace(LOSS, item="output 1", kind="inf", sense="compiled", elements=5, shape=(5,), compiled=float("inf"))


LATER = replace(ENERGY, item="output 2", kind="values", compiled=3.0)


@pytest.mark.parametrize(
    ("check", "item"),
    [
        (Check("inf", "assert_close", "float32", (5,), difference=4.7e-07), "output 1"),
        (Check("values", "assert_close", "float32", (5,), difference=1.5), "output 2"),
        (Check("values", "difference", "float64", (), difference=7.0), "output 0"),
        (
            Check("values", "difference", "float64", (7,), difference=1.51),
            "output 2",
        ),  # of another shape, and as far off
        (Check("strides"), "output 0"),
        (None, "output 0"),
    ],
)
def test_of_several_wrong_values_the_one_is_told_that_the_check_looked_at(
    walk: Callable[..., Walk], check: Check | None, item: str
) -> None:
    it, _ = checked(walk, AgentNotes(wrongs=(LOSS, ENERGY, LATER), compared=1), check)
    found = it.conclusion()
    assert found.wrong.item == item
    assert found.signature.wrong == found.wrong.wrongness
    assert it.checked is not None and {wrong.item for wrong in it.checked.notes.wrongs} == {
        f"output {number}" for number in range(3)
    }


def says(code: str, kind: str = "RuntimeError", cause: RaisedException | None = None) -> RaisedException:
    frames = (Frame("/home/me/x.py", 9, "main", code),)
    return RaisedException(kind, "no", frames, cause=cause, phase="uncaught")


TORCHS = says("y = out.view(-1)")


@pytest.mark.parametrize(
    ("error", "wrong", "symptom"),
    [
        (says("raise RuntimeError(f'counts are {used}')"), OUTPUT, Symptom.WRONG_RESULT),
        (says("raise ValueError('drift')", "ValueError"), NAN, Symptom.WRONG_RESULT),
        (interpret.bare_exit(2, "refusing to serve"), OUTPUT, Symptom.WRONG_RESULT),
        (says("sys.exit(2)", "SystemExit"), OUTPUT, Symptom.WRONG_RESULT),
        (says("sys.exit(2)", "SystemExit", cause=TORCHS), OUTPUT, Symptom.EXCEPTION),
        (says("raise RuntimeError('step failed')", cause=TORCHS), OUTPUT, Symptom.EXCEPTION),
        (TORCHS, OUTPUT, Symptom.EXCEPTION),
        (says("table[index]", "IndexError"), OUTPUT, Symptom.EXCEPTION),
        (says("raise ValueError('not contiguous')", "ValueError"), replace(OUTPUT, kind="strides"), Symptom.EXCEPTION),
    ],
)
def test_what_the_program_says_of_wrong_values_is_a_wrong_result(
    walk: Callable[..., Walk], error: RaisedException, wrong: WrongResult, symptom: Symptom
) -> None:
    found = checked(walk, AgentNotes(wrongs=(wrong,), compared=1), error=error)[0].conclusion()
    assert (found.symptom, found.signature.wrong) == (symptom, wrong.wrongness)


class Dropping(Checking):
    """Its check fails by a wrong mask, so it passes where its graphs are compared without dropout. `shown`: with it."""

    def __init__(self, shown: tuple[WrongResult, ...]) -> None:
        super().__init__(AgentNotes(compared=1))
        self.shown = shown

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        probe = super().__call__(request, cancel)
        if request.accuracy is None:
            return probe
        if request.accuracy.dropout:
            return replace(probe, notes=replace(probe.notes, wrongs=self.shown))
        notes = replace(probe.notes, without_dropout=True)
        return replace(probe, outcome=Outcome(OutcomeKind.OK, 1.0, 0), signature=None, notes=notes)


def test_a_check_that_passes_without_dropout_is_looked_behind_with_it(walk: Callable[..., Walk]) -> None:
    machine = Dropping((GRADIENT,))
    it = walk(machine)
    it.first()
    it.settle()
    found = comparing.check(it)
    assert (found.stage, found.wrong) == (Stage.AOT_AUTOGRAD, GRADIENT)
    assert [request.accuracy.dropout for request in machine.requests if request.accuracy] == [False, True]
    it = walk(Dropping(()))
    it.first()
    it.settle()
    assert comparing.check(it).wrong is None and it.checked is not None and dropout_note(it.checked)
