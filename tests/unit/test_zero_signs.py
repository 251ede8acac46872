"""An operation that was given zeros of the other sign is not the one to blame; each stand-in for a compiler changes one sign."""

from __future__ import annotations

from dataclasses import replace

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import PASSED, Runner, failing, inquiry, late

from triage.culprit.first_wrong import first_wrong
from triage.judge.comparison import CheckOracle
from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.reduce.printing.printer import Form

M = meta(4)
GRAPH = case(
    [tensor("x", 4), tensor("y", 4)],
    [node("up", "torch.relu", "%y", out=M), node("angle", "torch.atan2", "%up", "%x", out=M)],
    "%angle",
)
SIGNATURE = FailureSignature(OutcomeKind.WRONG_RESULT, "AssertionError", "no", "no", (), None)
FAILS = RaisedException("AssertionError", "eager: 1, compiled: 2", (Frame("repro.py", 9, "<module>"),))
WRONG = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=FAILS)


def compiler(wrong: tuple[str, ...], right: tuple[str, ...]) -> Runner:
    """Fails the comparisons in whose text one of the words of `wrong` stands, and none of `right`."""
    return failing(
        lambda source: any(word in source for word in wrong) and not any(word in source for word in right),
        Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=FAILS),
    )


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        (("atan2", "signbit"), ("where",), ("torch.relu", True)),
        (("atan2", "signbit"), (), ("torch.atan2", False)),  # wrong of plain zeros as well, whatever relu does to signs
        (("atan2",), ("where",), ("torch.atan2", False)),  # relu gives the zeros that eager gives
        (("relu",), (), ("torch.relu", False)),
    ],
)
def test_who_made_the_zeros_is_named_where_the_difference_hangs_on_them(
    wrong: tuple[str, ...], right: tuple[str, ...], told: tuple[str, bool]
) -> None:
    runner = compiler(wrong, right)
    found = first_wrong(GRAPH, Form(check="values"), inquiry(runner, oracle=CheckOracle(SIGNATURE)))
    assert (found.node.target, found.by_sign) == told
    if right:
        assert any("torch.where(a == 0, 0.0, a)" in source for source in runner.asked)


def test_an_operation_that_reads_only_inputs_is_not_asked_for_signs() -> None:
    runner = compiler(("relu",), ())
    first_wrong(GRAPH, Form(check="values"), inquiry(runner, oracle=CheckOracle(SIGNATURE)))
    assert len(runner.asked) == 1


@pytest.mark.parametrize(("slow", "told"), [("relu", None), ("nothing of it", "torch.relu")])
def test_the_first_wrong_value_is_not_known_where_one_before_it_is_not(slow: str, told: str | None) -> None:
    nodes = [node("up", "torch.sigmoid", "%y", out=meta(4)), node("over", "torch.relu", "%up", out=meta(4))]
    graph = case([tensor("y", 4)], [*nodes, node("end", "torch.cos", "%over", out=meta(4))], "%end")

    def ends(source: str, rung: str | None) -> Outcome | CandidateResult:
        return late() if slow in source and "cos" not in source else WRONG if "relu" in source else PASSED

    found = first_wrong(graph, Form(check="values"), inquiry(Runner(ends), oracle=CheckOracle(SIGNATURE)))
    assert (found.node.target if found else None) == told


def test_who_made_the_zeros_is_not_known_where_one_before_is_not() -> None:
    def ends(source: str, rung: str | None) -> Outcome | CandidateResult:
        if "signbit" in source:
            return WRONG if "cos" in source else late()
        return WRONG if "atan2" in source and "where" not in source else PASSED

    before = [GRAPH.nodes[0], node("more", "torch.cos", "%up", out=meta(4))]
    last = node("angle", "torch.atan2", "%more", "%x", out=meta(4))
    found = first_wrong(
        replace(GRAPH, nodes=(*before, last)),
        Form(check="values"),
        inquiry(Runner(ends), oracle=CheckOracle(SIGNATURE)),
    )
    assert (found.node.target, found.by_sign) == ("torch.atan2", False)
