"""A check of the script's own that fails: is a graph wrong, is it rounding, or is eager no measure?"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from walk_machine import walk_of
from wrong_values import (
    OUTPUT,
    Checking,
    checked,
)

from triage.judge.signature import signature_of
from triage.locate import comparing
from triage.locate.conclude import Conclusion
from triage.locate.graphs_compared import nothing_differs
from triage.locate.outcomes import is_comparison
from triage.locate.walk import Walk
from triage.model.accuracy import Check, Rounding
from triage.model.codec import encode
from triage.model.graphcase import GraphCase, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe import interpret
from triage.probe.notes import agent_notes
from triage.probe.run import Probe, ProbeRequest
from triage.stories.accuracy_notes import (
    comparison_note,
    emulated_words,
    fails_by_rounding,
    rounding_notes,
    unwritten_memory,
)
from triage.stories.findings import Findings
from triage.stories.headline import summary_sentence
from triage.stories.notes import notes_of


@pytest.fixture
def walk(tmp_path: Path) -> Callable[..., Walk]:
    return walk_of(tmp_path)


class Streams(Checking):
    """A target whose own check fails once other random numbers are drawn, uncompiled as well; `inductor` is wrong besides."""

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        if request.other_stream:
            return super().__call__(replace(request, rung="aot_eager"), cancel)
        probe = super().__call__(request, cancel)
        if request.accuracy is None:
            return probe
        notes = probe.notes if request.rung in (None, "inductor") else replace(probe.notes, wrongs=())
        outcome = interpret.with_comparison(Outcome(OutcomeKind.OK, 1.0, 0), notes)
        return replace(probe, outcome=outcome, signature=signature_of(outcome), notes=notes)


def test_a_check_of_random_streams_does_not_hide_a_wrong_value(walk: Callable[..., Walk]) -> None:
    it = walk(Streams(AgentNotes(wrongs=(OUTPUT,), compared=1)))
    it.first()
    assert it.settle().random_check and comparing.worth_looking_behind(it) and comparing.look_behind(it)
    found = it.settle()
    assert (found.stage, found.symptom, found.random_check) == (Stage.INDUCTOR, Symptom.WRONG_RESULT, False)
    assert found.outcome is not None and is_comparison(found.outcome) and not comparing.worth_checking(it)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, True),
        ({"compared": 0}, False),
        ({"not_compared": ("its tangents",)}, False),
        ({"by_chance": ("output 0",)}, False),
        ({"wrongs": (OUTPUT,)}, False),
        ({"rounding": Rounding("0/0", 1, "output 0")}, False),
    ],
)
def test_graphs_that_give_what_eager_gives_where_the_check_fails_are_not_to_blame(
    walk: Callable[..., Walk], told: dict[str, object], expected: bool
) -> None:
    it, _ = checked(walk, replace(AgentNotes(compared=2, graphs=1), **told))
    failed = it.start.signature
    assert it.checked is not None and nothing_differs(it.checked, failed) is expected
    assert not nothing_differs(None, failed) and not nothing_differs(it.start, failed)


def test_a_check_of_random_streams_alone_is_not_blamed(walk: Callable[..., Walk]) -> None:
    it = walk(Streams(AgentNotes(compared=3)))
    it.first()
    it.settle()
    assert comparing.worth_looking_behind(it) and not comparing.look_behind(it)
    assert it.conclusion().random_check and it.conclusion().stage is Stage.NONE


class Rounds(Streams):
    """A target whose own check fails by rounding from `aot_eager` on; `inductor` is wrong besides."""

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        if request.accuracy is None or not request.accuracy.own_check:
            return super().__call__(replace(request, other_stream=""), cancel)
        probe = Checking.__call__(self, request, cancel)
        if request.rung == "inductor":
            return probe
        return replace(probe, notes=replace(probe.notes, wrongs=(), rounding=ROUNDED))


def test_a_check_that_fails_by_rounding_does_not_hide_a_wrong_value(walk: Callable[..., Walk]) -> None:
    it = walk(Rounds(AgentNotes(wrongs=(OUTPUT,), compared=1), Check("values", relative=0.01)))
    it.first()
    assert comparing.check_first(it)
    it.checked = None  # its graph says that `inductor` is to blame, and the script fails below it
    it.settle()
    failed = comparing.check(it)
    assert failed.symptom is Symptom.ROUNDING and comparing.worth_looking_behind(it) and comparing.look_behind(it)
    found = it.settle()
    assert (found.stage, found.symptom, found.rounding) == (Stage.INDUCTOR, Symptom.WRONG_RESULT, None)
    assert not comparing.worth_looking_behind(it) and not comparing.worth_checking(it)
    assert comparing.failing_rungs(it) == {
        "aot_eager",
        "aot_eager_decomp_partition",
        "inductor",
    }  # no ways round its check
    assert "with `aot_eager` already" in (fails_by_rounding(failed) or "") and fails_by_rounding(found) is None


ROUNDED = Rounding("0/0", 1, "output 0", "bfloat16", (3,), difference=0.05, tolerances=3.0)
NOTHING = replace(ROUNDED, difference=4e6, relative=2.2, of_zero=True)


def test_where_nothing_is_wrong_it_is_rounding(walk: Callable[..., Walk]) -> None:
    it, machine = checked(walk, AgentNotes(rounding=ROUNDED, compared=2), Check("values", relative=0.01))
    found = it.conclusion()
    assert (found.stage, found.symptom, found.rounding) == (Stage.NONE, Symptom.ROUNDING, ROUNDED)
    assert machine.requests[-1].extra_env == comparing.EMULATE and machine.requests[-1].accuracy is None
    told = " ".join(rounding_notes(it, ROUNDED, amplified=False))
    gross = replace(ROUNDED, relative=2.2)
    assert "No tolerance" in " ".join(rounding_notes(it, replace(gross, spread=0.04), amplified=False))
    for unmoved in (gross, replace(gross, spread=1e-6)):  # nobody has seen that it is ill-conditioned
        assert "no measure" in " ".join(rounding_notes(it, unmoved, amplified=False))
    assert "rounding of a zero" in " ".join(rounding_notes(it, replace(gross, of_zero=True), amplified=False))
    assert "other side" in " ".join(rounding_notes(it, replace(ROUNDED, steps=True), amplified=False))
    assert "with every step" in " ".join(rounding_notes(it, ROUNDED, amplified=True))
    within = " ".join(rounding_notes(it, replace(ROUNDED, tolerances=0.06), amplified=False))
    assert "which this value passes" in within and "raise rtol" not in within
    assert "a smaller tolerance" in within  # as an absolute one of 1e-6, of numbers around a million
    assert "differ by 0.05" in told and "the check fails as well" in told


def test_a_loop_that_makes_more_of_each_rounding_is_not_called_an_operation_that_does(
    walk: Callable[..., Walk], tmp_path: Path
) -> None:
    it, _ = checked(walk, AgentNotes(rounding=ROUNDED, compared=1), Check("values", relative=0.01))
    gross = replace(ROUNDED, relative=2.2, spread=0.04)

    def told(steps: int) -> str:
        where = "x.py:7 in f: state = torch.tanh(state)"
        nodes = tuple(GraphNode(f"t{step}", "call_function", "torch.tanh", where=where) for step in range(steps))
        file = tmp_path / "graph-0-dynamo.json"
        file.write_text(json.dumps(encode(GraphCase("dynamo", (), nodes, (), graph_id="0/0"))), encoding="utf-8")
        it.checked = replace(it.checked, graphs=(file,))
        return " ".join(rounding_notes(it, gross, amplified=False))

    assert "state = torch.tanh(state)` stands 40 times" in told(40) and "ill-conditioned" not in told(40)
    assert "ill-conditioned" in told(1)


@pytest.mark.parametrize(
    ("rounding", "check"),
    [
        (replace(ROUNDED, relative=2.2), Check("values", relative=2.2)),  # the inverse of a matrix that has none
        (replace(ROUNDED, unbounded=True), Check("inf")),
        (replace(ROUNDED, unbounded=True), Check("values", relative=0.9)),
        (NOTHING, Check("values", difference=4.0001e6, relative=1.1)),  # as much as is left of numbers that cancel
        (replace(ROUNDED, relative=0.1, spread=0.4), Check("values", difference=0.3, relative=0.8)),  # on a rung above
    ],
)
def test_a_gross_difference_that_the_graphs_show_and_eager_explains_is_rounding(
    walk: Callable[..., Walk], rounding: Rounding, check: Check
) -> None:
    found = checked(walk, AgentNotes(rounding=rounding, compared=1), check)[0].conclusion()
    assert (found.stage, found.symptom) == (Stage.NONE, Symptom.ROUNDING)


def test_where_eager_alone_gives_nan_it_is_eager_that_is_wrong(walk: Callable[..., Walk]) -> None:
    rounding = replace(ROUNDED, unbounded=True, eager_wrong=2, eager_gives="NaN")
    it = checked(walk, AgentNotes(rounding=rounding, compared=1), Check("nan"))[0]
    found = it.conclusion()
    assert (found.stage, found.symptom) == (Stage.NONE, Symptom.ROUNDING)
    said = summary_sentence(found, it.first(), None)
    assert said.startswith("It is eager that is wrong, not the compiler: ") and "rounding" not in said
    assert "eager gives NaN where double precision and the compiled code agree" in said
    told = " ".join(rounding_notes(it, rounding, amplified=False))
    assert "eager gives NaN for 2 of its elements" in told and "EMULATE" not in told
    named = " ".join(rounding_notes(it, replace(rounding, eager_operation="aten.pow"), amplified=False))
    assert "`aten.pow` is the first operation" in named


class Amplifying(Checking):
    """Its check fails uncompiled too, where each result is a rounding off: in this way."""

    def __init__(self, notes: AgentNotes, check: Check, otherwise: Check | None) -> None:
        super().__init__(notes, check)
        self.otherwise = otherwise

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        if not request.rounds_otherwise or self.otherwise is None:
            return super().__call__(request, cancel)
        assert request.rung == "uncompiled"
        failing = Checking(self.notes, self.otherwise)(replace(request, rung="inductor"), cancel)
        return replace(failing, rung="uncompiled")


@pytest.mark.parametrize(
    ("otherwise", "amplified"), [(Check("values", relative=1.3), True), (Check("nan"), False), (None, False)]
)
def test_what_the_program_makes_of_a_rounding_is_rounding(
    walk: Callable[..., Walk], otherwise: Check | None, amplified: bool
) -> None:
    notes = AgentNotes(rounding=replace(ROUNDED, relative=1e-9), compared=2)
    it = walk(Amplifying(notes, Check("values", relative=0.9), otherwise))
    it.first()
    it.settle()
    comparing.check(it)
    found = it.conclusion()
    assert (found.symptom is Symptom.ROUNDING, found.amplified) == (amplified, amplified)
    assert found.stage is (Stage.NONE if amplified else Stage.AOT_AUTOGRAD)


class AmplifyingDynamo(Amplifying):
    passes = ("uncompiled",)


SEEN = Check("values", difference=0.001, relative=2e-4)


@pytest.mark.parametrize(
    ("otherwise", "rounds"),
    [
        (Check("values", difference=0.002, relative=6e-4), True),
        (replace(SEEN, difference=4e-4), False),  # what Dynamo makes of the calls is further off
        (Check("values"), False),
        (None, False),
    ],
)
def test_what_dynamo_rounds_otherwise_is_rounding(
    walk: Callable[..., Walk], otherwise: Check | None, rounds: bool
) -> None:
    """Its graphs agree with themselves, so none tells of it."""
    it = walk(AmplifyingDynamo(AgentNotes(compared=2), SEEN, otherwise))
    it.first()
    it.settle()
    assert comparing.worth_checking(it)
    comparing.check(it)
    found = it.conclusion()
    assert (found.stage, found.symptom is Symptom.ROUNDING) == (Stage.NONE if rounds else Stage.DYNAMO, rounds)
    assert ("It is rounding" in summary_sentence(found, it.start, None)) is rounds


class FurtherThanDynamo(AmplifyingDynamo):
    """With Inductor its check is further off than with Dynamo alone."""

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        if request.rung not in ("eager", "uncompiled"):
            return Checking(self.notes, replace(SEEN, difference=0.009))(request, cancel)
        return super().__call__(request, cancel)


@pytest.mark.parametrize(
    ("difference", "rounding", "rounds"), [(0.002, ROUNDED, True), (0.002, None, False), (4e-4, ROUNDED, False)]
)
def test_what_comes_on_top_of_dynamos_rounding_is_rounding_if_graphs_show_no_more(
    walk: Callable[..., Walk], difference: float, rounding: Rounding | None, rounds: bool
) -> None:
    notes = AgentNotes(rounding=rounding, compared=2)
    it = walk(FurtherThanDynamo(notes, SEEN, replace(SEEN, difference=difference)))
    it.first()
    comparing.check_first(it)
    it.settle()
    comparing.check(it)
    assert it.conclusion().stage is (Stage.NONE if rounds else Stage.DYNAMO)


@pytest.mark.parametrize(
    ("notes", "check"),
    [
        (AgentNotes(rounding=None, compared=2), None),  # the graphs give the same, to the bit: it is something else
        (AgentNotes(rounding=ROUNDED, compared=2, not_compared=("graph 0/1: a DTensor",)), None),
        (AgentNotes(rounding=ROUNDED, compared=2, double_backward=True), None),
        (AgentNotes(rounding=ROUNDED, compared=2, stopped_early=True), None),
        (AgentNotes(rounding=ROUNDED, compared=2), Check("nan")),
        (AgentNotes(rounding=ROUNDED, compared=2), Check("dtype")),
        (AgentNotes(rounding=ROUNDED, compared=2), Check("values", relative=0.9)),
        (AgentNotes(rounding=ROUNDED, compared=2), Check("values", difference=0.2, relative=0.9)),
        (AgentNotes(rounding=NOTHING, compared=2), Check("values", difference=5e6, relative=1.1)),
        (AgentNotes(rounding=replace(ROUNDED, relative=2.2), compared=2), Check("nan")),
    ],
)
def test_what_may_be_more_than_rounding_is_not_called_that(
    walk: Callable[..., Walk], notes: AgentNotes, check: Check | None
) -> None:
    found = checked(walk, notes, check)[0].conclusion()
    assert found.stage is Stage.AOT_AUTOGRAD and found.symptom is not Symptom.ROUNDING


@pytest.mark.parametrize(
    ("kind", "code", "rounds"),
    [
        (
            "AttributeError",
            "energy = tangent.square().mean()",
            False,
        ),  # None, where a tensor was: no rounding makes that
        ("TypeError", "total = total + tangent", False),
        ("TypeError", 'raise TypeError("they differ")', True),  # the program's own word on its numbers
        ("IndexError", "value = table[bucket]", True),
    ],
)
def test_no_rounding_makes_another_kind_of_object(
    walk: Callable[..., Walk], kind: str, code: str, rounds: bool
) -> None:
    error = RaisedException(kind, "no", (Frame("/home/me/x.py", 9, "<module>", code),), phase="uncaught")
    found = checked(walk, AgentNotes(rounding=ROUNDED, compared=2), error=error)[0].conclusion()
    assert (found.stage is Stage.NONE, found.symptom is Symptom.ROUNDING) == (rounds, rounds)


def test_a_comparison_that_did_not_end_is_no_proof_of_rounding(walk: Callable[..., Walk]) -> None:
    it, _ = checked(walk, AgentNotes(rounding=ROUNDED, compared=2))
    assert it.conclusion().symptom is Symptom.ROUNDING
    it.checked = replace(it.checked, outcome=Outcome(OutcomeKind.HANG, 300.0))
    assert it.conclusion().stage is Stage.AOT_AUTOGRAD


def test_eager_that_is_not_sure_of_itself_is_no_measure(walk: Callable[..., Walk]) -> None:
    found = checked(walk, AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",)))[0].conclusion()
    assert (found.stage, found.symptom) == (Stage.NONE, Symptom.NONDETERMINISTIC) and found.unsteady


def test_the_order_of_writes_is_told_in_place_of_memory() -> None:
    def told(*by: str | None) -> str:
        events = [
            {"e": "unsteady", "graph": "0/0", "item": f"output {n}", "unordered": one} for n, one in enumerate(by)
        ]
        notes = replace(agent_notes(events), compared=1)
        return str(comparison_note(Probe("p", None, Outcome(OutcomeKind.OK), None, notes, Path("x"))))

    assert "when index_put writes in another order" in told("index_put", "index_put")
    both = told("index_put", None)
    assert "memory that the program never wrote" in both and "output 1" in both and "output 0" not in both


class Tracing(Checking):
    """Its check fails on every rung that compiles."""

    passes = ("uncompiled",)


@pytest.mark.parametrize(
    ("notes", "stage"),
    [
        (AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",)), Stage.NONE),
        (AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",), wrongs=(OUTPUT,)), Stage.DYNAMO),
        (AgentNotes(compared=1, rounding=ROUNDED), Stage.DYNAMO),  # eager runs its graphs, and rounds as eager does
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_nor_is_dynamo_blamed_by_a_check_that_eager_is_not_sure_of(
    walk: Callable[..., Walk], notes: AgentNotes, stage: Stage, first: bool
) -> None:
    it = walk(Tracing(notes))
    it.first()
    if first:  # asked before the ladder, which forgets what blames no graph
        comparing.check_first(it)
        it.checked = None
    assert it.settle().stage is Stage.DYNAMO
    # Of a check that may fail whatever is drawn, other random numbers tell nothing.
    assert (it.other_stream is None) is (first and stage is Stage.NONE)
    if comparing.worth_checking(it):
        comparing.check(it)
    found = it.conclusion()
    assert found.stage is stage and bool(found.unsteady) is (stage is Stage.NONE)
    assert (found.symptom is Symptom.NONDETERMINISTIC) is bool(found.unsteady)


def test_where_the_script_fails_uncompiled_as_well_that_may_be_why(walk: Callable[..., Walk]) -> None:
    it = walk(Tracing(AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",), unordered=("index_put",))))
    it.first()
    comparing.check_first(it)
    it.checked = None
    found = Findings(it.session, it.target, (), it)
    noted = notes_of(found, Conclusion(Stage.SCRIPT, Symptom.NONDETERMINISTIC))
    assert any("when index_put writes in another order" in note for note in noted)
    assert not any("index_put" in note for note in notes_of(found, Conclusion(Stage.DYNAMO, Symptom.WRONG_RESULT)))


def test_what_gives_memory_that_nobody_wrote_is_named(tmp_path: Path) -> None:
    meta = TensorMeta((2,), (1,), "float32")
    nodes = (
        GraphNode("a", "call_function", "torch.zeros", [2], out=[meta], where="x.py:2 in f: a = torch.zeros(2)"),
        GraphNode("b", "call_function", "torch.empty", [2], out=[meta], where="x.py:3 in f: b = torch.empty(2)"),
        GraphNode("c", "call_method", "new_empty", [{"ref": "a"}, [2]], out=[meta]),
    )
    files = []
    for number, name in enumerate(("0/0", "1/0")):
        files.append(tmp_path / f"graph-{number}-dynamo.json")
        files[-1].write_text(json.dumps(encode(GraphCase("dynamo", (), nodes, (), graph_id=name))), encoding="utf-8")
    notes = AgentNotes(compared=2, unsteady=("output 0 of graph 0/0",))
    probe = Probe("p", None, Outcome(OutcomeKind.OK), None, notes, Path("x"), graphs=tuple(files))
    assert [node.name for node in unwritten_memory(probe)] == ["b", "c"]
    said = str(comparison_note(probe))
    assert "aten.empty (x.py:3 in f: b = torch.empty(2)), aten.new_empty" in said and "zeros(2)" not in said


def test_what_is_told_of_casts_between_operations_does_not_contradict_the_ladder() -> None:
    fails, passes = Outcome(OutcomeKind.WRONG_RESULT, 1.0, 1), Outcome(OutcomeKind.OK, 1.0, 0)
    below, inductor = LADDER[-2:]
    assert emulated_words(below, fails).endswith("the rounding changes before Inductor's kernels.")
    assert "before" not in emulated_words(inductor, fails)  # where the rung below passes
    assert emulated_words(inductor, passes).endswith("the check passes.")
