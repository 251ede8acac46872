"""A float that does not fit into an integer dtype may become any number: no compiler is wrong by that."""

from __future__ import annotations

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import BOOM, PASSED, Runner, inquiry

from triage.culprit.undefined import undefined_conversion
from triage.locate.conclude import Conclusion
from triage.model.stage import Stage, Symptom
from triage.reduce.printing.printer import Form
from triage.stories.known_cause import cause_of

X, CAST = tensor("x", 4), node("y", ".to", "%x", {"dtype": "int8"}, out=meta(4, dtype="int8"))
VALUES, INSIDE = Form(check="values"), "\nx = torch.clamp(torch.nan_to_num(x), -128, 127)\nexpected = f(x)\n"


def test_it_is_that_where_the_reproducer_passes_with_what_fits() -> None:
    runner = Runner(lambda source, rung: PASSED if INSIDE in source else BOOM)
    assert undefined_conversion(case([X], [CAST], "%y"), VALUES, inquiry(runner)) == "int8"
    told = cause_of(Conclusion(Stage.INDUCTOR, Symptom.WRONG_RESULT), None, (), conversion="int8")
    assert told is not None and "to int8 that do not fit" in told.explanation


@pytest.mark.parametrize(
    "nodes",
    [
        [CAST],  # what fits comes out wrong as well
        [node("y", "torch.argsort", "%x", out=meta(4, dtype="int64"))],
        [node("y", ".to", "%x", {"dtype": "bfloat16"}, out=meta(4, dtype="bfloat16"))],
        [node("z", "torch.exp", "%x", out=meta(4)), node("y", ".int", "%z", out=meta(4, dtype="int32"))],
    ],
)
def test_else_it_is_not(nodes: list) -> None:
    runner = Runner(lambda source, rung: BOOM)
    assert undefined_conversion(case([X], nodes, "%y"), VALUES, inquiry(runner)) == ""
    assert len(runner.asked) == (nodes == [CAST])
