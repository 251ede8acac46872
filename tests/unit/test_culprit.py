"""Which operation is named: of several in a reproducer the one that the error points at."""

import pytest
from reduce_cases import case, meta, op, r, tensor

from triage.culprit.operation import culprit_of, operator_name
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.model.graphcase import SubGraph
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage, Symptom

REFS = "/opt/torch/_refs/__init__.py"


def concluded(*functions: str, message: str = "bad operand") -> Conclusion:
    error = RaisedException("TypeError", message, tuple(Frame(REFS, 3, name) for name in functions), phase="compile")
    outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error)
    return Conclusion(Stage.DECOMP_PARTITION, Symptom.EXCEPTION, signature_of(outcome), outcome)


def graph():
    """An operation that holds a graph, its pick, and what is inside."""
    body = SubGraph("body", ("t",), (op("i", "torch.lerp", "%t", out=meta(4)), op("j", "torch.real", "%i")), [r("j")])
    nodes = [
        op("s", "torch._C._set_grad_enabled", False),
        op("w", "torch.ops.higher_order.wrap", {"graph": "body"}, "%x", out=[meta(4)]),
        op("y", "operator.getitem", "%w", 0, kind="get_item", out=meta(4)),
    ]
    return case([tensor("x", 4)], nodes, "y", subgraphs=(body,))


def test_the_operation_in_whose_decomposition_it_was_raised():
    found = culprit_of(concluded("compile", "lerp", "lt"), graph(), ())
    assert found is not None and found.op == "aten.lerp"
    assert found.detail == "the reproducer needs aten.lerp, aten.real"


def test_the_operation_that_the_message_names_comes_first():
    found = culprit_of(concluded("lerp", message="While executing aten.real.default"), graph(), ())
    assert found is not None and found.op == "aten.real"


def test_the_last_one_where_nothing_tells_them_apart():
    found = culprit_of(concluded("compile"), graph(), ())
    assert found is not None and found.op == "aten.real"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("torch.linalg.norm", "aten.linalg_norm"),
        ("torch.fft.fft", "aten.fft_fft"),
        ("torch.nn.functional.relu", "aten.relu"),
        ("operator.mod", "aten.remainder"),
        ("torch.masked.softmin", "torch.masked.softmin"),
    ],
)
def test_the_operator_behind_a_function(target, name):
    assert operator_name(op("a", target, "%x", out=meta(2))) == name
