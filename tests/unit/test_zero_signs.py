"""An operation that was given zeros of the other sign is not the one to blame; each stand-in for a compiler changes one sign."""

from __future__ import annotations

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import Runner, failing, inquiry

from triage.culprit.first_wrong import first_wrong
from triage.judge.comparison import CheckOracle
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
    assert found is not None and (found.node.target, found.by_sign) == told
    if right:
        assert any("torch.where(a == 0, 0.0, a)" in source for source in runner.asked)


def test_an_operation_that_reads_only_inputs_is_not_asked_for_signs() -> None:
    runner = compiler(("relu",), ())
    first_wrong(GRAPH, Form(check="values"), inquiry(runner, oracle=CheckOracle(SIGNATURE)))
    assert len(runner.asked) == 1
