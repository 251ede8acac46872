"""An operation that gives other values of eager's own is no rounding; each stand-in for a compiler is wrong in one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import PASSED, Runner, result

from triage.judge.judgement import CandidateResult
from triage.locate.conclude import Conclusion
from triage.model.accuracy import Comparison, GraphCall, Rounding, WrongResult
from triage.model.codec import encode
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.model.trees import ref
from triage.probe.run import Probe
from triage.session.settings import Settings
from triage.stories import rounding_doubts
from triage.stories.findings import Findings

M, INDEX = meta(4), meta(4, dtype="int64")
GRAPH = case(
    [tensor("x", 4)],
    [
        node("scaled", "torch.sigmoid", "%x", out=M),
        node("bins", "torch.floor_divide", "%scaled", 0.1, out=M),
        node("index", ".long", "%bins", out=INDEX),
    ],
    "%index",
    graph_id="0/0",
)
CHECK = RaisedException("AssertionError", "", (Frame("repro.py", 9, "<module>"),))
DIFFERS = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=CHECK)
OFF = WrongResult("0/0", 1, "output 1", "forward", dtype="float32", elements=4, wrong=1, compiled=10.0, eager=9.0)
FAR = Rounding("0/0", 1, "output 0", "float32", difference=1.0, tolerances=65789.0, file="graph.json")
STEPS = Rounding("0/0", 1, "output 0", "int64", difference=1.0, tolerances=1.0, steps=True, file="graph.json")


class Compiler(Runner):
    """Its `floor_divide` is wrong, on eager's values `alone` too; whatever is given that result instead agrees."""

    def __init__(self, *, alone: bool = True, elsewhere: bool = False, nan: bool = False) -> None:
        super().__init__(self.ended)
        self.alone, self.elsewhere = alone, elsewhere
        self.wrong = replace(OFF, kind="nan", dtype="float32") if nan else OFF

    @contextlib.contextmanager
    def comparing(self, accuracy: Comparison | None) -> Iterator[None]:
        yield

    def look(self, source: str, file: str) -> str:
        values = [[1.0] * 4, [9.0] * 4, [9] * 4, [10] * 4]
        return json.dumps([values if ".add_(" in source else values[:3], []])

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        if "def f(x, y, z):" in source:  # of eager's values
            return result(DIFFERS, wrongs=(self.wrong,), compared=1) if self.alone else PASSED
        if (
            "counts" in source and "return counts.add_" not in source
        ):  # a comparison of what is returned sees nothing of it
            return PASSED
        return DIFFERS if "floor_divide" in source or self.elsewhere else PASSED


def asked(tmp_path: Path, compiler: Compiler, rounding: Rounding = STEPS, graph: GraphCase = GRAPH) -> Any:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(encode(graph)))
    rung = next(rung for rung in LADDER if rung.name == "inductor")
    signature = result(DIFFERS).signature
    conclusion = Conclusion(Stage.NONE, Symptom.ROUNDING, signature, DIFFERS, failing=rung, rounding=rounding)
    notes = AgentNotes(rounding=rounding)
    probe = Probe("inductor-compared", "inductor", DIFFERS, signature, notes, Path("x"), graphs=(path,))
    found = SimpleNamespace(
        walk=SimpleNamespace(conclusion=lambda: conclusion, checked=probe, evidence={}, start=probe),
        runner=compiler,
        session=SimpleNamespace(emit=lambda *_, **__: None, settings=Settings()),
        notes=[],
        alone=None,
    )
    rounding_doubts.doubt_operations(cast("Findings", found))
    return found


@pytest.mark.parametrize("rounding", [STEPS, replace(STEPS, steps=False, dtype="float32", tolerances=7000.0)])
def test_an_operation_that_is_wrong_on_eagers_own_values_is_told_in_the_place_of_rounding(
    tmp_path: Path, rounding: Rounding
) -> None:
    found = asked(tmp_path, Compiler(), rounding)
    assert found.alone is not None and [each.target for each in found.alone.nodes] == ["torch.floor_divide"]
    assert found.walk.checked.notes.rounding is None
    (wrong,) = found.walk.checked.notes.wrongs
    assert (wrong.graph, wrong.call, wrong.item) == ("0/0", 1, "result of aten.floor_divide")
    assert (wrong.operation, wrong.wrongness.place) == ("aten.floor_divide", "output")
    assert found.notes[0].startswith(
        "What is told as wrong is what aten.floor_divide makes of eager's own values in graph 0/0."
    )


BESIDE = replace(
    GRAPH, nodes=(*GRAPH.nodes, node("marks", "torch.sin", "%x", out=M)), outputs=(ref("marks"), ref("index"))
)


@pytest.mark.parametrize("alone", [True, False])
def test_behind_what_is_another_failure_an_operation_is_asked_alone(tmp_path: Path, alone: bool) -> None:
    """Its `sin` is wrong with any rung: a graph that returns that differs whatever else is given."""

    class Both(Compiler):
        def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
            return DIFFERS if "torch.sin" in source else super().ended(source, rung)

        def look(self, source: str, file: str) -> str:
            return json.dumps([[[1.0] * 4, [9.0] * 4, [9] * 4], []])

    found = asked(tmp_path, Both(alone=alone), graph=BESIDE)
    assert found.alone is None  # as long as nobody knows of another failure
    found.cases = (BESIDE,)
    marks = WrongResult("0/0", 1, "output 0", "forward")
    told = rounding_doubts.doubt_the_rest(cast("Findings", found), found.walk.checked, (marks,))
    assert told.notes.rounding is None
    if not alone:
        assert (told.notes.wrongs, found.alone, found.cases) == ((), None, (BESIDE,))
        return
    assert [wrong.item for wrong in told.notes.wrongs] == ["result of aten.floor_divide"]
    assert [case.outputs for case in found.cases] == [found.alone.outputs, (ref("index"),)]
    assert "what else that graph gives is what eager gives" in found.notes[0]


def test_a_later_call_is_asked_by_what_it_was_given(tmp_path: Path) -> None:
    found = asked(tmp_path, Compiler(), replace(STEPS, call=7))
    (wrong,) = found.walk.checked.notes.wrongs
    assert (wrong.call, wrong.file) == (7, "graph.json")


def test_what_changes_a_value_in_place_is_passed_over(tmp_path: Path) -> None:
    counted = node("counted", ".add_", "%counts", "%index", out=INDEX)
    counts = replace(tensor("counts", 4, dtype="int64"), role="buffer")
    nodes, inputs = (*GRAPH.nodes, counted), (*GRAPH.inputs, counts)
    found = asked(tmp_path, Compiler(), graph=replace(GRAPH, inputs=inputs, nodes=nodes, outputs=()))
    assert found.alone is not None and [each.target for each in found.alone.nodes] == ["torch.floor_divide"]


class OfOneDtype(Compiler):
    """Its graph cannot be run in double precision, which a comparison with that needs."""

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        if ".double()" not in source or "def f(x, y, z):" in source:
            return super().ended(source, rung)
        words = "index_add_(): self (Double) and source (Float) must have the same scalar type"
        return replace(DIFFERS, exception=RaisedException("RuntimeError", words))


def test_a_graph_of_one_dtype_is_compared_with_eager_alone(tmp_path: Path) -> None:
    assert asked(tmp_path, OfOneDtype()).alone is not None


class Lenient(Compiler):
    """Its comparison lets the whole graph pass: eager is as far from double precision in another element. `left`: without it."""

    def __init__(self, left: Rounding | None) -> None:
        super().__init__()
        self.left = left

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        if "def f(x, y, z):" in source:
            return super().ended(source, rung)
        return result(PASSED, rounding=FAR if "floor_divide" in source else self.left, compared=1)


@pytest.mark.parametrize("left", [None, replace(FAR, tolerances=0.5)])
def test_a_graph_may_differ_though_eager_is_as_far_from_double_precision(tmp_path: Path, left: Rounding | None) -> None:
    found = asked(tmp_path, Lenient(left), FAR)
    assert found.alone is not None and [each.target for each in found.alone.nodes] == ["torch.floor_divide"]


def test_no_operation_is_told_where_the_graph_differs_without_it_as_well(tmp_path: Path) -> None:
    assert asked(tmp_path, Lenient(FAR), FAR).alone is None


class Hidden(Lenient):
    """As that, and its `floor_divide` is plainly wrong by itself."""

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        if "floor_divide" in source and "sigmoid" not in source and "def f(x, y, z):" not in source:
            return result(PASSED, wrongs=(self.wrong,), compared=1)
        return super().ended(source, rung)


def test_what_is_plainly_wrong_is_told_where_the_rest_of_the_graph_rounds_otherwise_too(tmp_path: Path) -> None:
    found = asked(tmp_path, Hidden(FAR), FAR)
    assert found.alone is not None and [each.target for each in found.alone.nodes] == ["torch.floor_divide"]
    assert "still rounds otherwise, which may be what the check sees" in found.notes[0]


class Large(Compiler):
    """What its sigmoid gives is too large to be written down."""

    def look(self, source: str, file: str) -> str:
        return json.dumps([[None, [9.0] * 4, [9] * 4], []])

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        assert "floor_divide" not in source, "it reads what may be wrong itself"
        return result(PASSED, wrongs=(self.wrong,), compared=1)


def test_what_reads_a_value_too_large_to_be_written_down_is_not_blamed(tmp_path: Path) -> None:
    assert asked(tmp_path, Large()).alone is None


class Sharing(Compiler):
    """As the other, but that what is wrong is whose memory it shares: the copy that returns all tells nothing of that."""

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        assert "def f(x, y, z):" in source, "the graph is asked"
        return result(DIFFERS, wrongs=(replace(OFF, kind="aliasing"),), compared=1)


def test_an_alias_of_what_is_returned_for_this_alone_is_none(tmp_path: Path) -> None:
    assert asked(tmp_path, Sharing()).alone is None


class Sorting(Compiler):
    """As that, where it is `torch.sort` of two results that is wrong."""

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        return super().ended(source.replace("torch.sort", "floor_divide"), rung)


def test_an_operation_of_several_results_is_found_by_the_one_that_is_wrong(tmp_path: Path) -> None:
    both = replace(node("both", "torch.sort", "%scaled"), out=[M, INDEX], multi=True)
    bins = node("bins", "operator.getitem", "%both", 0, out=M)
    graph = replace(GRAPH, nodes=(GRAPH.nodes[0], both, bins, GRAPH.nodes[2]))
    found = asked(tmp_path, Sorting(), graph=graph)
    assert found.alone is not None and [each.target for each in found.alone.nodes] == ["torch.sort", "operator.getitem"]
    assert found.walk.checked.notes.wrongs[0].operation == "aten.sort"


NAN = WrongResult("0/0", 1, "output 0", "forward", "nan", sense="compiled", dtype="float32", file="graph.json")
TRUTH = replace(NAN, kind="values", sense="", dtype="bool")


def traced(
    tmp_path: Path, compiler: Compiler, wrong: WrongResult, *, silent: bool = False, graph: GraphCase = GRAPH
) -> Any:
    """What is taken for wrong in the place of this value, where the script's check fails or nothing is raised."""
    found = asked(tmp_path, Compiler(alone=False), graph=graph)
    found.runner, found.traced, found.silent = compiler, "", None
    found.walk.checked = replace(found.walk.checked, notes=AgentNotes(wrongs=(wrong,)))
    if not silent:
        rounding_doubts.trace_back(cast("Findings", found))
        return found
    walk = found.walk
    failed = Outcome(OutcomeKind.WRONG_RESULT, exception=RaisedException("WrongResult", "", phase="compare"))
    walk.compared, walk.checked = replace(walk.checked, outcome=failed, notes=AgentNotes(wrongs=(wrong,))), None
    walk.rungs, walk.own_rung, walk.seen, walk.comparison = LADDER, LADDER[-1], {LADDER[-1].name: []}, None
    walk.announce = lambda *_: None
    rounding_doubts.trace_silent(cast("Findings", found))
    return found


@pytest.mark.parametrize("wrong", [NAN, replace(NAN, kind="inf"), TRUTH, replace(TRUTH, dtype="int64")])
def test_what_a_wrong_number_is_made_into_is_traced_back_to_it(tmp_path: Path, wrong: WrongResult) -> None:
    found = traced(tmp_path, Compiler(), wrong)
    (told,) = found.walk.checked.notes.wrongs
    assert (told.item, told.kind, told.file) == ("result of aten.floor_divide", "values", "graph.json")
    assert [each.target for each in found.alone.nodes] == ["torch.floor_divide"]
    assert found.traced.endswith(f"Given the compiled one, output 0 is wrong ({wrong.wrongness.words()}).")


@pytest.mark.parametrize(
    ("compiler", "wrong"),
    [
        (Compiler(alone=False), NAN),  # each operation is right on eager's values: several make it together
        (Compiler(elsewhere=True), NAN),
        (Compiler(), replace(NAN, kind="values")),  # the operation alone looks like that
        (Compiler(nan=True), NAN),  # so it does here
        (Compiler(), replace(NAN, kind="strides")),
    ],
)
def test_else_it_is_told_as_it_is(tmp_path: Path, compiler: Compiler, wrong: WrongResult) -> None:
    found = traced(tmp_path, compiler, wrong)
    assert found.walk.checked.notes.wrongs == (wrong,) and (found.alone, found.traced) == (None, "")


class NotANumber(Compiler):
    """Its `floor_divide` gives another thing than eager's NaN."""

    def __init__(self) -> None:
        super().__init__(nan=True)

    def look(self, source: str, file: str) -> str:
        return json.dumps([[[1.0] * 4, [float("nan")] * 4, [9] * 4], []])


def test_a_number_that_was_made_of_a_nan_is_traced_back_to_that(tmp_path: Path) -> None:
    found = traced(tmp_path, NotANumber(), replace(NAN, kind="values"))
    (told,) = found.walk.checked.notes.wrongs
    assert (told.item, told.kind) == ("result of aten.floor_divide", "nan")
    assert [each.target for each in found.alone.nodes] == ["torch.floor_divide"]


GRADIENT = replace(NAN, item="gradient of w", direction="backward")
TRAINING = case(
    [
        replace(tensor("x", 4), meta=meta(4, requires_grad=True)),
        replace(tensor("gradient_of_loss", 4), gradient_of="loss"),
    ],
    [
        node("kept", "torch.atanh", "%x", out=meta(4, requires_grad=True)),
        node("loss", "torch.sqrt", "%kept", out=meta(4, requires_grad=True)),
    ],
    "%loss",
    graph_id="0/0",
)


class Training(Compiler):
    """Its `atanh` is wrong in the forward pass, whose value the backward pass reads; `itself`: and its own gradient, too."""

    def __init__(self, *, itself: bool = False) -> None:
        super().__init__()
        self.itself = itself

    def look(self, source: str, file: str) -> str:
        return json.dumps([[[1e-9] * 4, [2e-5] * 4], [[1.0] * 4, [1.0] * 4]])

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        if "backward" not in source:  # each operation of eager's values
            return result(PASSED, wrongs=(replace(OFF, item="output 0", small=True),), compared=1)
        if "sqrt" in source:
            return DIFFERS if "atanh" in source else PASSED
        return result(DIFFERS, wrongs=(GRADIENT,), compared=1) if self.itself else PASSED


@pytest.mark.parametrize("kind", ["nan", "inf", "values"])
def test_a_wrong_gradient_is_traced_back_to_the_value_that_the_forward_pass_kept(tmp_path: Path, kind: str) -> None:
    wrong = replace(GRADIENT, kind=kind, sense="")
    found = traced(tmp_path, Training(), wrong, graph=TRAINING)
    (told,) = found.walk.checked.notes.wrongs
    assert (told.item, told.direction, told.small) == ("result of aten.atanh", "forward", True)
    assert [each.target for each in found.alone.nodes] == ["torch.atanh"]
    assert not found.alone.backward and [each.name for each in found.alone.inputs] == ["x"]
    assert "Given the compiled one, gradient of w is wrong" in found.traced


def test_an_operation_whose_own_gradient_is_wrong_is_left_to_the_search(tmp_path: Path) -> None:
    found = traced(tmp_path, Training(itself=True), GRADIENT, graph=TRAINING)
    assert found.walk.checked.notes.wrongs == (GRADIENT,) and found.alone is None


def test_so_it_is_in_a_script_that_raises_nothing_until_the_graph_does_not_answer(tmp_path: Path) -> None:
    found = traced(tmp_path, Compiler(), NAN, silent=True)
    assert found.walk.compared.notes.wrong.item == "result of aten.floor_divide" and found.alone is not None
    assert found.walk.seen[LADDER[-1].name][0].signature.wrong.kind == "values"
    rounding_doubts.believe_silent(cast("Findings", found))
    assert found.walk.compared.notes.wrongs == (NAN,) and (found.alone, found.traced) == (None, "")
    assert found.walk.seen[LADDER[-1].name][0].outcome.kind is OutcomeKind.WRONG_RESULT


def silent(tmp_path: Path, compiler: Compiler) -> Any:
    """A script that raises nothing, compared, and what is thought of it then."""
    found = asked(tmp_path, Compiler(alone=False))  # nothing is doubted by that
    walk, told = found.walk, []
    ended = Outcome(OutcomeKind.OK, 1.0, 0)
    passed = Probe("as_is", None, ended, None, AgentNotes(graphs=1), Path("x"))
    walk.start, walk.compared = passed, replace(walk.checked, name="as_is-compared", outcome=ended, signature=None)
    walk.rungs, walk.own_rung, walk.seen, walk.comparison = LADDER, LADDER[-1], {LADDER[-1].name: [passed]}, None
    walk.announce = lambda rung, probe: told.append(probe)
    walk.conclusion = lambda: Conclusion(Stage.NONE, Symptom.NONE)
    found.runner, found.silent = compiler, None
    rounding_doubts.doubt_silent(found)
    return found


def test_a_script_that_raises_nothing_fails_by_such_an_operation(tmp_path: Path) -> None:
    found = silent(tmp_path, Compiler())
    (probe,) = found.walk.seen[LADDER[-1].name]
    assert probe.outcome.kind is OutcomeKind.WRONG_RESULT and probe.signature.wrong.kind == "values"
    assert found.walk.comparison.until == GraphCall("0/0", 1)
    assert found.alone is not None and len(found.notes) == 1


def test_where_the_graph_does_not_answer_it_passes_as_before(tmp_path: Path) -> None:
    found = silent(tmp_path, Compiler())
    rounding_doubts.believe_silent(found)
    (probe,) = found.walk.seen[LADDER[-1].name]
    assert probe.outcome.kind is OutcomeKind.OK and found.walk.compared.notes.rounding is STEPS
    assert (found.alone, found.silent, found.walk.comparison, found.notes) == (None, None, None, [])


def test_a_script_that_raises_nothing_by_rounding_passes(tmp_path: Path) -> None:
    found = silent(tmp_path, Compiler(alone=False))
    assert found.silent is None and found.walk.seen[LADDER[-1].name][0].outcome.kind is OutcomeKind.OK


@pytest.mark.parametrize(
    ("compiler", "rounding"),
    [
        (Compiler(alone=False), STEPS),  # right of eager's own values: over the step by rounding
        (Compiler(elsewhere=True), STEPS),  # wrong, and the graph differs without it as well
        (Compiler(), replace(STEPS, dtype="float32", difference=1e-6, tolerances=0.5, steps=False)),
        (Compiler(), replace(STEPS, dtype="float32", tolerances=9.0, steps=False, eager_wrong=1)),
        (Compiler(), replace(STEPS, call=7, file="")),  # what that call was given is not known
    ],
)
def test_else_it_stays_rounding(tmp_path: Path, compiler: Compiler, rounding: Rounding) -> None:
    found = asked(tmp_path, compiler, rounding=rounding)
    assert found.alone is None and not found.notes
    assert found.walk.checked.notes.rounding is rounding
