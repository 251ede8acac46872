"""The module of the program that a failure is laid to."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor

from triage.culprit.operation import Clues, culprit_of, operators_in
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.model.graphcase import GraphNode
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.places import line_told
from triage.model.report import Culprit, ReportSignature, ReportVerdict, SubsystemSearch, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.report.facts import facts
from triage.report.formats import html
from triage.report.wording import another_on_that_line
from triage.stories.assemble import _signature
from triage.stories.blamed_place import decomposed_node, line_to_blame, named_operation, with_module

M = meta(4)
RELU = Culprit("aten.relu", "0/0", "lowerings")
LINE = "net.py:9 in forward: return self.act(self.lin(x))"


def at(name: str, target: str, module: str, line: str = LINE) -> GraphNode:
    return replace(node(name, target, "%x", out=M), where=line, module=module)


LAYERS = [
    at("lin", "torch.nn.functional.linear", "layers.0.lin (Linear)"),
    at("one", "torch.relu", "layers.0.act (ReLU)"),
    at("two", "torch.relu", "layers.1.act (ReLU)"),
    at("three", "torch.relu", "layers.2.act (ReLU)"),
    at("other", "torch.relu", "head (Head)", "net.py:20 in forward: return torch.relu(x)"),
]


def found(*kept: GraphNode, nodes: list[GraphNode] = LAYERS, **rest: Any) -> Any:
    """What a run found: a reproducer of the operations `kept`, of a program with these `nodes`."""
    reduced = case([tensor("x", 4)], list(kept), kept[-1].name) if kept else None
    facts = {"diverging": None, "given_wrong": None, "first_wrong": None, "subsystem": None, **rest}
    whole = case([tensor("x", 4)], nodes, nodes[-1].name)
    facts = {"any_operation": False, **facts}
    return SimpleNamespace(reproduced=SimpleNamespace(graph=reduced, verified=3), cases=(whole,), **facts)


def test_of_several_modules_that_do_the_same_on_a_line_it_is_told_how_many_there_are() -> None:
    told = with_module(RELU, found(LAYERS[2]), LINE)
    assert told == replace(RELU, module="layers.1.act (ReLU)", modules_alike=2)


def test_where_any_operation_would_do_neither_line_nor_module_is_told_for_it() -> None:
    there = found(LAYERS[1], diverging=None, given_wrong=None, first_wrong=None, any_operation=True)
    assert line_to_blame(there) is None
    assert with_module(RELU, there, LAYERS[1].where) is RELU


def test_an_error_that_left_a_compiled_graph_stands_where_the_operation_to_blame_does() -> None:
    def named(message: str = "index out of bounds", stage: Stage = Stage.INDUCTOR, **facts: Any) -> str | None:
        error = RaisedException("RuntimeError", message, **facts)
        outcome = Outcome(OutcomeKind.EXCEPTION, exception=error)
        return named_operation(Conclusion(stage, Symptom.EXCEPTION, outcome=outcome), RELU)

    assert named(in_graph=True) == named(phase="uncaught") == "aten.relu"
    assert named(phase="compile") is None  # its traceback has the line
    assert named(phase="uncaught", stage=Stage.DYNAMO) is None  # what is left in a graph has no part in it
    assert named("target: aten.cumsum.default", in_graph=True) == "aten.cumsum.default"


def test_where_a_wrong_value_begins_is_one_module() -> None:
    there = found(LAYERS[1], diverging=SimpleNamespace(node=LAYERS[3]))
    assert with_module(RELU, there, LINE) == replace(RELU, module="layers.2.act (ReLU)")


def test_without_a_reproducer_the_module_is_told_where_one_alone_is_on_the_line() -> None:
    assert with_module(RELU, found(), LAYERS[4].where) == replace(RELU, module="head (Head)")
    assert with_module(RELU, found(), LINE) == RELU


@pytest.mark.parametrize("line", [None, "net.py:31 in step: loss.backward()"])
def test_of_another_line_no_module_is_told(line: str | None) -> None:
    assert with_module(RELU, found(LAYERS[2]), line) == RELU
    assert with_module(None, found(LAYERS[2]), LINE) is None


def test_an_operation_of_the_program_itself_has_no_module() -> None:
    bare = at("y", "torch.relu", "")
    assert with_module(RELU, found(bare, nodes=[bare]), LINE) == RELU


def test_a_module_that_is_called_on_what_the_operation_makes_does_not_do_it() -> None:
    bare, head = at("y", "torch.relu", ""), at("lin", "torch.nn.functional.linear", "head (Linear)")
    assert with_module(RELU, found(bare, nodes=[bare, head]), LINE) == RELU
    assert with_module(RELU, found(nodes=[bare, head]), LINE) == RELU


def test_a_graph_that_knows_no_modules_leaves_it_to_one_that_does() -> None:
    bare, known = at("y", "torch.relu", ""), at("y", "torch.relu", "act (ReLU)")
    there = found(bare, nodes=[known])
    there.cases = (*there.cases, case([tensor("x", 4)], [bare], bare.name))
    assert with_module(RELU, there, LINE) == replace(RELU, module="act (ReLU)")


@pytest.mark.parametrize(
    ("more", "says"), [(0, ""), (1, ", or another that does the same"), (11, ", or one of 11 more that do the same")]
)
def test_the_report_names_it(more: int, says: str) -> None:
    report = TriageReport(
        {},
        (),
        verdict=ReportVerdict(Symptom.EXCEPTION, Stage.INDUCTOR),
        signature=ReportSignature("RuntimeError", "no", user_line=LINE),
        culprit=replace(RELU, module="layers.1.act (ReLU)", modules_alike=more),
    )
    told = ("Module", f"`layers.1.act (ReLU)`{says}")
    assert told in facts(report) and told in html._facts(report)


@pytest.mark.parametrize(
    ("operation", "line", "says"),
    [
        (f"aten.argmin ({LINE})", LINE, " in the reproducer; on that line aten.argmin"),
        (f"aten.relu ({LINE})", LINE, ""),
        (f"aten.argmin ({LINE})", "net.py:20 in forward: return torch.relu(x)", ""),
        ("aten.argmin", LINE, ""),
        (None, LINE, ""),
    ],
)
def test_where_the_line_does_another_operation_than_the_reproducer_the_terminal_tells_both(
    operation: str | None, line: str, says: str
) -> None:
    accuracy = {"first_diverging": operation and {"operation": operation}}
    signature = SimpleNamespace(user_line=line)
    report: Any = SimpleNamespace(accuracy=accuracy, culprit=RELU, signature=signature)
    assert another_on_that_line(report) == says


LERP = at("mixed", "torch.lerp", "", "ema.py:3 in update: mixed = shadow.lerp(weights, 0.5)")
VIEW = at("flat", "torch.flatten", "", "ema.py:4 in update: return mixed.view(-1)")


def cannot_view() -> Conclusion:
    code = (Frame("/home/ann/ema.py", 4, "update", "return mixed.view(-1)"),)
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("ValueError", "Cannot view", user_code=code))
    return Conclusion(Stage.DECOMP_PARTITION, Symptom.EXCEPTION, signature_of(outcome), outcome)


def test_what_comes_up_in_a_later_operation_is_laid_to_the_one_that_is_decomposed_wrongly() -> None:
    search = SubsystemSearch(("decomposition",), 1, "aten.lerp.Scalar")
    there = found(LERP, VIEW, subsystem=search)
    assert decomposed_node(there) == LERP
    assert line_to_blame(there) == LERP.where
    assert line_to_blame(found(LERP, VIEW)) == VIEW.where
    assert decomposed_node(found(LERP, replace(LERP, name="again"), subsystem=search)) is None  # one of two
    assert decomposed_node(found(LERP, VIEW, subsystem=replace(search, names=("lowerings",)))) is None


def test_it_is_named_before_the_last_one() -> None:
    reduced = case([tensor("x", 4)], [LERP, VIEW], "flat")
    named = [culprit_of(cannot_view(), reduced, None, clues) for clues in (Clues(), Clues(decomposed=LERP))]
    assert [each and each.op for each in named] == ["aten.flatten", "aten.lerp"]
    assert named[1] is not None and named[1].detail == (
        "the decomposition to blame is its own; the reproducer needs aten.flatten as well"
    )


def test_its_line_comes_before_that_of_the_traceback() -> None:
    told = [_signature(cannot_view(), LERP.where, None, None, line) for line in (None, LERP.where)]
    assert [each and each.user_line for each in told] == [VIEW.where, LERP.where]


def test_a_custom_operator_comes_before_what_its_fake_kernel_calls() -> None:
    said = (
        "failed to run FX node with fake tensors: call_function shop.price(*(FakeTensor(..., size=(6, 8)),), **{}): got"
    )
    found = operators_in(
        RaisedException("TorchRuntimeError", f'{said} AssertionError("Found in aten.mm.default(Fake")')
    )
    assert found == ("shop.price", "aten.mm.default")


@pytest.mark.parametrize(
    "frame",
    [
        Frame("train.py", 31, "forward", "y = self.lin(x) if {1: 2} else x"),
        Frame("pkg/vit.py", 7, "<lambda>"),
        Frame("<string>", 1, "<module>", "f()"),
    ],
)
def test_the_line_that_a_frame_tells_is_read_back(frame: Frame):
    assert line_told(frame.told) == (frame.file.rsplit("/", 1)[-1], frame.line, frame.function, frame.code)


def test_a_place_may_be_no_more_than_file_and_line():
    assert line_told("train.py:31") == ("train.py", 31, "", "")
    assert line_told("nothing of the kind") is None
