"""A wrong value that only the agent saw: it becomes the failure, the rungs are judged alike, candidates need both verdicts."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stand_ins import Runner, failing, inquiry
from stand_ins import result as tried
from walk_machine import walk_of

from triage.culprit.first_wrong import first_wrong
from triage.judge.comparison import CheckOracle, ComparisonOracle, FirstComparison, WrongAlike
from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.locate import comparing
from triage.locate.conclude import Conclusion, is_comparison, is_script_check
from triage.locate.walk import Walk
from triage.model.accuracy import Check, Comparison, GraphCall, Rounding, Wrongness, WrongResult
from triage.model.codec import encode
from triage.model.graphcase import Context, GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom, Verdict
from triage.probe import interpret
from triage.probe.notes import agent_notes
from triage.probe.run import Probe, ProbeRequest
from triage.reduce.compare import comparison_of
from triage.reduce.interface import Problem
from triage.reduce.printing.printer import Form, print_case
from triage.session.clock import Clock
from triage.stories.comparison import (
    comparison_note,
    emulated_words,
    fails_by_rounding,
    rounding_notes,
    unwritten_memory,
)
from triage.stories.findings import Findings
from triage.stories.headline import summary_sentence
from triage.stories.notes import notes_of

GRADIENT = WrongResult(
    "0/1", 4, "gradient of self.w", "backward", wrong=3, elements=6, reference=True, compiled_error=0.5
)
OUTPUT = WrongResult("0/1", 4, "output 3", "forward", wrong=1, elements=6)
NAN = replace(OUTPUT, kind="nan", sense="compiled")
FORWARD = {
    "call": 4, "item": "output 0", "direction": "forward", "dtype": "float32", "shape": [2, 3],
    "compiled": float("nan"),
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"e": "start"},
    {"e": "not_compared", "graph": "0/0", "reason": "an input is a DTensor"},
    {"e": "wrong", "result": {"graph": "0/1", **FORWARD}},
    {"e": "wrong", "result": {"graph": "0/2", **FORWARD}},
    {"e": "end", "graphs": 2, "compared": 7, "backwards": 3},
]


def ran(notes: AgentNotes, code: int = 0) -> Outcome:
    return interpret.with_comparison(Outcome(OutcomeKind.OK, 1.0, code), notes)


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


@pytest.mark.parametrize("others", ["", "it prints `2` where the uncompiled run prints `1`"])
def test_every_call_is_compared_where_what_is_printed_tells_that_something_is_wrong(
    walk: Callable[..., Walk], others: str
) -> None:
    it = walk(Machine(None))
    it.first()
    it.prints_others = others
    comparing.compare(it)
    assert it.compared is not None and it.probe.requests[-1].accuracy.every is bool(others)


def test_never_is_never(walk: Callable[..., Walk]) -> None:
    it = walk(Machine("inductor"), accuracy="never")
    it.first()
    assert not comparing.worth_comparing(it)


class Checking:
    """A target whose own check fails on all rungs but those that it `passes`. What comparing its graphs finds are `notes`.

    It fails by its graphs: with one of them uncompiled it passes.
    """

    passes: tuple[str, ...] = ("uncompiled", "eager")

    def __init__(self, notes: AgentNotes, check: Check | None = None, error: RaisedException | None = None) -> None:
        self.notes, self.checked, self.error = notes, check, error
        self.requests: list[ProbeRequest] = []

    def __call__(self, request: ProbeRequest, cancel: object = None) -> Probe:
        self.requests.append(request)
        notes = AgentNotes(True, "2.13.0", compile_calls=(CompileCall(None),), graphs=1)
        outcome = Outcome(OutcomeKind.OK, 1.0, 0)
        if request.rung not in self.passes and not request.uncompiled_graphs:
            frames = (Frame("/home/me/x.py", 9, "<module>", "assert close(out, ref)"),)
            error = RaisedException("AssertionError", "no", frames, phase="uncaught", check=self.checked)
            outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=self.error or error)
        if request.accuracy is not None:
            notes = replace(self.notes, started=True, compile_calls=notes.compile_calls)
        return Probe(request.name, request.rung, outcome, signature_of(outcome), notes, Path("x"))


def checked(
    walk: Callable[..., Walk], notes: AgentNotes, check: Check | None = None, error: RaisedException | None = None
) -> tuple[Walk, Checking]:
    machine = Checking(notes, check, error)
    it = walk(machine)
    it.first()
    it.settle()
    assert comparing.worth_checking(it)
    comparing.check(it)
    return it, machine


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
        (AgentNotes(rounding=replace(ROUNDED, relative=2.2), compared=2), Check("nan")),
    ],
)
def test_what_may_be_more_than_rounding_is_not_called_that(
    walk: Callable[..., Walk], notes: AgentNotes, check: Check | None
) -> None:
    found = checked(walk, notes, check)[0].conclusion()
    assert found.stage is Stage.AOT_AUTOGRAD and found.symptom is not Symptom.ROUNDING


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
    assert "memory that the program never wrote" in told("index_put", None)


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


CHECK = RaisedException("AssertionError", "eager: 1, compiled: 2", (Frame("repro.py", 9, "<module>"),))


FAILS = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=CHECK)


def judged(outcome: Outcome, notes: AgentNotes, wanted: WrongResult = OUTPUT, **how: bool) -> Verdict:
    signature = signature_of(ran(AgentNotes(wrongs=(wanted,))))
    assert signature.wrong == wanted.wrongness
    oracle = ComparisonOracle(signature, **how)
    return oracle.judge(CandidateResult(outcome, notes, signature_of(outcome), True)).verdict


def test_of_texts_that_compare_the_first_that_fails_is_the_measure() -> None:
    checking = Frame("/v/lib/python3.11/site-packages/torch/testing/_comparison.py", 1, "assert_close")

    def result(message: str, kind: str = "AssertionError", *frames: Frame) -> CandidateResult:
        exception = RaisedException(kind, message, (Frame("repro.py", 9, "<module>"), *(frames or [checking])))
        outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=exception)
        return CandidateResult(outcome, AgentNotes(), signature_of(outcome), True)

    oracle = FirstComparison()
    passes = CandidateResult(Outcome(OutcomeKind.OK, 1.0, 0), AgentNotes(), None, True)
    assert oracle.judge(passes).verdict is Verdict.NO_FAILURE
    assert oracle.judge(result("no such attribute", "AttributeError")).verdict is Verdict.UNRESOLVED
    inside = Frame("repro.py", 5, "main")  # the program's own check, which the text holds as well
    assert oracle.judge(result("got 0", "AssertionError", inside)).verdict is Verdict.UNRESOLVED
    assert oracle.judge(result("not close!", "AssertionError", inside, checking)).verdict is Verdict.UNRESOLVED
    assert oracle.judge(result("Tensor-likes are not close!")).verdict is Verdict.SAME_FAILURE
    assert oracle.judge(result("The values for attribute 'shape' do not match")).verdict is Verdict.UNRESOLVED
    assert oracle.judge(result("Tensor-likes are not close!")).verdict is Verdict.SAME_FAILURE


def test_a_candidate_needs_both_verdicts() -> None:
    wrong = AgentNotes(wrongs=(replace(OUTPUT, item="output 0"),), compared=1)
    assert judged(FAILS, wrong) is Verdict.SAME_FAILURE
    assert judged(FAILS, AgentNotes()) is Verdict.SAME_FAILURE  # a plain run, to verify
    assert judged(ran(wrong), wrong) is Verdict.NO_FAILURE
    crash = Outcome(OutcomeKind.CRASH, 1.0, -11, "SIGSEGV")
    assert judged(crash, AgentNotes()) is Verdict.UNRESOLVED


def test_what_eager_explains_is_no_failure() -> None:
    assert judged(FAILS, AgentNotes(compared=1)) is Verdict.NO_FAILURE
    assert judged(FAILS, AgentNotes(compared=1, unsteady=("output 0 of graph 0/0",))) is Verdict.UNRESOLVED
    skipped = AgentNotes(not_compared=("graph 0/0: ...",))
    assert judged(FAILS, skipped) is Verdict.UNRESOLVED
    assert judged(FAILS, skipped, lenient=True) is Verdict.SAME_FAILURE


@pytest.mark.parametrize(
    "other",
    [
        NAN,
        GRADIENT,
        replace(OUTPUT, item="x after the call"),
        replace(OUTPUT, kind="dtype", words="dtype is bfloat16 compiled, float32 in eager"),
    ],
)
def test_another_kind_of_wrongness_is_another_failure(other: WrongResult) -> None:
    assert judged(FAILS, AgentNotes(wrongs=(other,), compared=1)) is Verdict.UNRESOLVED
    assert (
        judged(FAILS, AgentNotes(wrongs=(other, OUTPUT), compared=1)) is Verdict.SAME_FAILURE
    )  # it is wrong in both ways


def test_a_nan_in_eager_alone_is_not_a_nan_compiled() -> None:
    assert judged(FAILS, AgentNotes(wrongs=(replace(NAN, sense="eager"),), compared=1), NAN) is Verdict.UNRESOLVED


def test_the_kind_is_part_of_the_fingerprint() -> None:
    prints = {signature_of(ran(AgentNotes(wrongs=(each,)))) for each in (OUTPUT, NAN, GRADIENT)}
    assert len({signature.fingerprint for signature in prints if signature}) == 3


def wrong_at(*words: str) -> Runner:
    """Runs candidates whose result is wrong once it holds one of these words."""
    failure = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=CHECK)
    return failing(lambda source: any(word in source for word in words), failure)


def chain(*targets: str) -> GraphCase:
    meta = TensorMeta((4,), (1,), "float32")
    nodes, last = [], "x"
    for number, target in enumerate(targets):
        nodes.append(GraphNode(f"n{number}", "call_function", target, [{"ref": last}], {}, [meta]))
        last = f"n{number}"
    return GraphCase("dynamo", (GraphInput("x", meta=meta),), tuple(nodes), ({"ref": last},))


def first(case: GraphCase, *words: str) -> str | None:
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    found = first_wrong(case, Form(check="values"), inquiry(wrong_at(*words), oracle=ComparisonOracle(signature)))
    return found.node.target if found else None


def test_the_first_value_that_is_wrong() -> None:
    case = chain("torch.sin", "torch.relu", "torch.cos")
    assert first(case, "relu") == "torch.relu"
    assert first(case, "nothing of it") is None
    assert first(chain("torch.tanh"), "nothing of it") == "torch.tanh"  # the only one


def test_the_first_value_that_is_wrong_may_be_too_small_for_the_check_of_its_candidate() -> None:
    passed = Outcome(OutcomeKind.OK, 1.0, 0)
    runner = Runner(lambda source, rung: tried(passed, wrongs=(OUTPUT,) if "relu" in source else (), compared=1))
    signature = signature_of(ran(AgentNotes(wrongs=(OUTPUT,))))
    assert signature is not None
    case = chain("torch.sin", "torch.relu", "torch.cos")
    found = first_wrong(case, Form(check="values"), inquiry(runner, oracle=WrongAlike(signature)))
    assert found.node.target == "torch.relu"
    other = tried(passed, wrongs=(replace(OUTPUT, kind="strides"),), compared=1)
    assert WrongAlike(signature).judge(other).verdict is Verdict.UNRESOLVED
    nan = tried(passed, wrongs=(replace(OUTPUT, kind="nan", sense="eager"),), compared=1)
    assert WrongAlike(signature).judge(nan).verdict is Verdict.SAME_FAILURE  # it makes one later
    assert WrongAlike(signature).judge(tried(passed, compared=1)).verdict is Verdict.NO_FAILURE


def test_gradients_are_compared_where_nothing_else_shows_and_taken_outside_of_autocast() -> None:
    meta = TensorMeta((4,), (1,), "float32", requires_grad=True)
    half = Context(autocast=("cpu", "bfloat16"))
    nodes = tuple(replace(node, out=[meta]) for node in chain("torch.sin").nodes)
    graph = replace(chain("torch.sin"), inputs=(GraphInput("x", meta=meta),), nodes=nodes, context=half)
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    runner = wrong_at("backward()")
    problem = Problem(signature, Stage.AOT_AUTOGRAD, "aot_eager", None, (graph,), Path("x"))
    found = comparison_of(problem, runner, CheckOracle(signature), Clock(0.0))
    assert found[0].backward
    text = print_case(found[0], form=found[1])
    forward = '    with torch.autocast("cpu", dtype=torch.bfloat16):\n        out = fn(x)\n    out.sum().backward()\n'
    assert forward in text and text.count("autocast") == 1
    assert (
        comparison_of(replace(problem, cases=(chain("torch.sin"),)), runner, CheckOracle(signature), Clock(0.0)) is None
    )


def test_a_nan_is_looked_for_as_torchs_tests_do_first() -> None:
    """`same` calls a lost NaN right: compiled and eager are equally far, by NaN, from the reference, or from a double itself."""
    meta = TensorMeta((4,), (1,), "float32", requires_grad=True)
    begins = GraphInput("g", role="gradient", meta=meta, gradient_of="n0")
    nodes = tuple(replace(node, out=[meta]) for node in chain("torch.sin").nodes)
    graph = replace(chain("torch.sin"), inputs=(GraphInput("x", meta=meta), begins), nodes=nodes, backward=True)
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    runner = wrong_at("torch.sin")
    for kind, asked in (("nan", (True, False)), ("values", (False, True))):
        wanted = replace(signature, wrong=Wrongness(kind, "output 0", "eager"))
        problem = Problem(wanted, Stage.INDUCTOR, "inductor", None, (graph,), Path("x"))
        found = comparison_of(problem, runner, CheckOracle(wanted), Clock(0.0))
        assert (found.form.close, found.form.fine) == asked


def without_gradient(source: str, rung: str | None) -> Outcome:
    """Of which a compiled gradient is None: the comparison itself raises, unless it counts as zeros."""
    if "zeros_like" in source or ".grad" not in source:
        return wrong_at("backward()").run(source).outcome
    raised = RaisedException("RuntimeError", "Could not infer dtype of NoneType", frames=())
    return Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=raised)


def test_a_comparison_bears_a_gradient_that_is_none() -> None:
    meta = TensorMeta((4,), (1,), "float32", requires_grad=True)
    nodes = tuple(replace(node, out=[meta]) for node in chain("torch.sin").nodes)
    graph = replace(chain("torch.sin"), inputs=(GraphInput("x", meta=meta),), nodes=nodes, backward=True)
    signature = signature_of(ran(agent_notes(EVENTS)))
    assert signature is not None
    runner = Runner(without_gradient)
    problem = Problem(signature, Stage.AOT_AUTOGRAD, "aot_eager", None, (graph,), Path("x"))
    found = comparison_of(problem, runner, CheckOracle(signature), Clock(0.0))
    assert found.form.zeros
    assert "    return out, torch.zeros_like(x) if x.grad is None else x.grad\n" in found.source


def test_a_gradient_that_is_none_has_no_number() -> None:
    absent = replace(GRADIENT, words="no gradient compiled, eager has one", compiled=0.0, eager=2.0)
    assert absent.headline() == "gradient of self.w of a compiled graph: no gradient compiled, eager has one"
    assert "compiled None, eager 2" in absent.details()
    assert absent.wrongness == GRADIENT.wrongness


def test_of_a_value_that_was_picked_the_operation_is_told_that_gave_it() -> None:
    meta, indices = TensorMeta((4,), (1,), "float32"), TensorMeta((4,), (1,), "int64")
    pool = GraphNode("n0", "call_function", "torch.max_pool1d", [{"ref": "x"}, 2], {}, [meta, indices], multi=True)
    picked = GraphNode("n1", "call_function", "operator.getitem", [{"ref": "n0"}, 1], {}, [indices])
    case = GraphCase("dynamo", (GraphInput("x", meta=meta),), (pool, picked), ({"ref": "n1"},))
    assert first(case, "nothing of it") == "torch.max_pool1d"


def test_what_is_told_of_casts_between_operations_does_not_contradict_the_ladder() -> None:
    fails, passes = Outcome(OutcomeKind.WRONG_RESULT, 1.0, 1), Outcome(OutcomeKind.OK, 1.0, 0)
    below, inductor = LADDER[-2:]
    assert emulated_words(below, fails).endswith("the rounding changes before Inductor's kernels.")
    assert "before" not in emulated_words(inductor, fails)  # where the rung below passes
    assert emulated_words(inductor, passes).endswith("the check passes.")
