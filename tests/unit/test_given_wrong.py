"""A failing operation may only have been given a wrong value; each stand-in for a compiler is wrong in one operation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import BOOM, PASSED, Runner, inquiry, late, result

from triage.culprit.given_wrong import GivenWrong, comes_of_another, given_wrong
from triage.judge.judgement import CandidateResult
from triage.locate.conclude import Conclusion
from triage.model.accuracy import Comparison, WrongResult
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.report import Culprit, ReportSignature, ReportVerdict, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.reduce.graph.candidate import Candidate
from triage.reduce.printing.printer import Form
from triage.report.facts import facts
from triage.report.kinds import is_wanted
from triage.report.titles import title
from triage.stories.assemble import exit_code, symptom_of
from triage.stories.bisect_subject import face_of
from triage.stories.blame import given_to
from triage.stories.blamed_place import line_to_blame

M, INDEX = meta(4), meta(4, dtype="int64")
GRAPH = case(
    [tensor("x", 4), tensor("w", 10, 1)],
    [
        node("bins", "torch.floor_divide", "%x", 0.1, out=M),
        node("index", ".long", "%bins", out=INDEX),
        node("rows", "torch.nn.functional.embedding", "%index", "%w", out=meta(4, 1)),
    ],
    "%rows",
)
OFF = WrongResult("0/0", 1, "output 0", "forward", dtype="float32", elements=4, wrong=1, compiled=10.0, eager=9.0)
CHECK = Outcome(
    OutcomeKind.EXCEPTION, 1.0, 1, exception=RaisedException("AssertionError", "", (Frame("repro.py", 9, "<module>"),))
)


class Compiler(Runner):
    """Dies in `embedding` of what `floor_divide` gives, or `always`; where a value is compared, `told` is what it ends in."""

    def __init__(self, told: CandidateResult, *, always: bool = False) -> None:
        super().__init__(self.ended)
        self.told, self.always, self.compares = told, always, False

    @contextlib.contextmanager
    def comparing(self, accuracy: Comparison | None) -> Iterator[None]:
        self.compares = accuracy is not None
        yield
        self.compares = False

    def look(self, source: str, file: str) -> str:
        return json.dumps([[[9.0] * 4, [9] * 4, *[[[0.0]] * 4] * source.count("embedding(")], []])

    def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
        if "embedding" in source:
            return BOOM if self.always or "floor_divide" in source else PASSED
        return self.told if self.compares and "floor_divide" in source else PASSED


class LongChain(Compiler):
    def look(self, source: str, file: str) -> str:
        return json.dumps([[[9.0] * 4] * 21 + [[9] * 4, [[0.0]] * 4], []])


def asked(compiler: Compiler, graph: Any = GRAPH, form: Form | None = None) -> Any:
    return given_wrong(graph, form or Form(), inquiry(compiler), compiler)


WRONG, ROUNDED = result(CHECK, compared=1, wrongs=(OFF,)), result(CHECK, compared=1)


def test_the_operation_that_gave_a_wrong_value_is_told_where_eagers_value_in_its_place_passes() -> None:
    found = asked(Compiler(WRONG))
    assert found.node.name == "bins" and found.wrong == OFF


def test_a_check_that_comes_after_the_value_is_not_in_the_way() -> None:
    """It raises whatever is returned: it is no dead code."""
    graph = replace(GRAPH, nodes=(*GRAPH.nodes, node("check", "torch._assert_async", "%rows", "embedding")))
    found = asked(Compiler(WRONG), graph)
    assert found.node.name == "bins"


def test_a_wrong_value_is_not_to_blame_where_the_failure_comes_with_eagers_value_too() -> None:
    assert asked(Compiler(WRONG, always=True)) is None


def test_what_rounding_explains_is_told_as_that() -> None:
    found = asked(Compiler(ROUNDED))
    assert found.node.name == "bins" and found.wrong is None


def test_rounding_that_grows_along_a_chain_is_told_as_that() -> None:
    chain = [node(f"a{i}", "torch.sin", f"%a{i - 1}" if i else "%x", out=M) for i in range(20)]
    rest = GRAPH.nodes[1:]
    last = node("bins", "torch.floor_divide", "%a19", 0.1, out=M)
    found = asked(LongChain(ROUNDED), replace(GRAPH, nodes=(*chain, last, *rest)))
    assert found.node.name == "bins" and found.wrong is None


@pytest.mark.parametrize(
    "told", [result(PASSED, compared=1), result(CHECK), result(CHECK, compared=1, unsteady=("output 0",)), result(BOOM)]
)
def test_right_values_and_what_could_not_be_compared_blame_nobody(told: CandidateResult) -> None:
    assert asked(Compiler(told)) is None


def test_nothing_is_asked_of_one_operation_and_of_what_compares_by_itself() -> None:
    compiler = Compiler(WRONG)
    alone = replace(GRAPH, nodes=GRAPH.nodes[:1], outputs=({"ref": "bins"},))
    assert asked(compiler, alone) is None and asked(compiler, form=Form(check="strides")) is None
    assert not compiler.asked


@pytest.mark.parametrize("always", [False, True])
def test_what_makes_more_of_a_wrong_value_is_not_where_values_go_wrong(always: bool) -> None:
    """The wrong one is small beside the program's others, as `expm1` of 1e-9 is: a quotient by it is seen first."""
    compiler = Compiler(WRONG, always=always)
    bins, _, rows = GRAPH.nodes
    made: Any = SimpleNamespace(graph=GRAPH, form=Form(check="values"))
    assert given_to(rows, bins, made, inquiry(compiler)) is not always
    assert not given_to(bins, bins, made, inquiry(compiler))
    assert not given_to(bins, rows, made, inquiry(compiler))  # it is what the other was given
    elsewhere = replace(rows, target="torch.cos")  # of the program's graph, and not in the reproducer
    assert not given_to(elsewhere, bins, made, inquiry(compiler))


@pytest.mark.parametrize("fails_by", ["bins", "rows"])
def test_the_operation_by_which_the_programs_graph_fails_is_told_apart_from_one_that_differs(fails_by: str) -> None:
    bins, index, rows = (replace(node, where=f"a.py:{line}") for line, node in enumerate(GRAPH.nodes, 1))
    whole = Candidate(replace(GRAPH, nodes=(bins, index, rows)), Form(check="values"))
    compiler = Compiler(WRONG, always=fails_by == "rows")  # it passes with eager's value of the other
    assert comes_of_another(whole, rows, bins, inquiry(compiler)) is (fails_by == "bins")
    assert comes_of_another(whole, bins, rows, inquiry(compiler)) is (fails_by == "rows")
    assert not comes_of_another(whole, bins, bins, inquiry(compiler))
    twice = replace(rows, name="again", target=bins.target, where=bins.where)
    assert not comes_of_another(
        replace(whole, case=replace(whole.case, nodes=(bins, twice, rows))), rows, bins, inquiry(compiler)
    )
    again = replace(rows, name="again")  # of one line in a loop
    often = replace(whole, case=replace(whole.case, nodes=(bins, index, rows, again)))
    assert comes_of_another(often, bins, rows, inquiry(compiler)) is (fails_by == "rows")
    assert not comes_of_another(often, again, rows, inquiry(compiler))


def test_the_line_is_that_of_the_operation_to_blame_and_not_of_the_last_one() -> None:
    bins, *rest = (replace(node, where=f"a.py:{line}") for line, node in enumerate(GRAPH.nodes, 1))
    made = SimpleNamespace(graph=replace(GRAPH, nodes=(bins, *rest)), verified=3)
    found: Any = SimpleNamespace(
        reproduced=made, diverging=None, given_wrong=None, first_wrong=bins, subsystem=None, any_operation=False
    )
    assert line_to_blame(found) == "a.py:1"
    found.first_wrong = None
    assert line_to_blame(found) == "a.py:3"


RAISES = TriageReport(
    tool={},
    command=(),
    verdict=ReportVerdict(Symptom.CRASH, Stage.INDUCTOR),
    signature=ReportSignature("SIGABRT", "kernel, /tmp/c4.main.cpp:21, index out of bounds: 0 <= tmp7 < 10L"),
    culprit=Culprit("aten.floor_divide"),
    given_wrong={
        "operation": "aten.floor_divide (a.py:3 in f: x // w)",
        "wrong": {"face": "off by 1 compiled, by 0 in eager", "values": "compiled 10, eager 9"},
    },
)


def test_the_title_tells_the_wrong_value_before_what_comes_of_it() -> None:
    told = "off by 1 compiled, by 0 in eager, then SIGABRT: index out of bounds: 0 <= tmp7 < 10L"
    assert title(RAISES) == f"[inductor] `aten.floor_divide`: {told}"
    assert is_wanted(RAISES)
    assert dict(facts(RAISES))["Comes of"] == (
        "a wrong value, the result of `aten.floor_divide (a.py:3 in f: x // w)`: off by 1 compiled, by 0 in eager "
        "(compiled 10, eager 9); with what eager computes in its place the reproducer passes"
    )


def test_what_comes_of_rounding_is_no_bug() -> None:
    conclusion = Conclusion(Stage.INDUCTOR, Symptom.CRASH, None, None)
    given = GivenWrong(node("index", "torch.floor", "%x"), None)
    assert symptom_of(conclusion, given) is Symptom.ROUNDING
    assert symptom_of(conclusion, replace(given, wrong=OFF)) is Symptom.CRASH
    assert symptom_of(conclusion, None) is Symptom.CRASH
    rounds = replace(
        RAISES,
        verdict=ReportVerdict(Symptom.ROUNDING, Stage.INDUCTOR),
        culprit=Culprit(None),
        given_wrong={"operation": "aten.floor", "wrong": None},
    )
    assert title(rounds) == "[inductor] SIGABRT: index out of bounds: 0 <= tmp7 < 10L, by rounding"
    assert not is_wanted(rounds)
    assert exit_code(rounds, interrupted=False) == 1
    assert dict(facts(rounds))["Where"] == "Inductor"
    face = face_of(rounds)  # `verify` and `bisect` look for what is raised
    assert face.signature.kind is OutcomeKind.CRASH


def test_no_value_is_blamed_that_comes_of_one_that_is_not_known() -> None:
    class SlowAtFirst(Compiler):
        def ended(self, source: str, rung: str | None) -> Outcome | CandidateResult:
            if ".long" in source:
                return super().ended(source, rung)
            return late() if self.compares else PASSED

    assert asked(SlowAtFirst(WRONG)) is None
