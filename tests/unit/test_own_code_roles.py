"""What the program can mend, and when that is why it fails."""

from types import SimpleNamespace
from typing import Any

import pytest

from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.model.outcome import Outcome, RaisedException
from triage.model.own_code import Finding, OperatorCheck, OperatorFailure, OwnCode
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.stories.whose_code import what_to_mend

MUTATES = OperatorCheck(
    "a::b", failures=(OperatorFailure("test_schema", "Argument x is not defined as mutable but was mutated"),)
)


def concluded(symptom: Symptom = Symptom.EXCEPTION, kind: str = "ValueError", message: str = "no") -> Conclusion:
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message))
    return Conclusion(Stage.INDUCTOR, symptom, signature_of(outcome), outcome)


def found(*checks: OperatorCheck, source: str | None = None) -> Any:
    made = SimpleNamespace(source=source, verified=True, engine="native") if source is not None else None
    return SimpleNamespace(operator_checks=checks, reproduced=made)


def own(role: str, raised: bool = True) -> OwnCode:
    return OwnCode(role, "mine.py:3", "mine.py:3 in f: raise", raised, "ValueError: no")


def explains(findings: tuple[Finding, ...]) -> list[bool]:
    return [finding.explains for finding in findings]


@pytest.mark.parametrize("role", ["lowering", "post-grad pass", "decomposition", "backend", "fake kernel"])
def test_what_is_asked_while_compiling_explains_its_own_exception(role: str) -> None:
    assert explains(what_to_mend(found(), concluded(), own(role))) == [True]
    assert what_to_mend(found(), concluded(), own(role, raised=False)) == ()


def test_a_kernel_that_refuses_its_inputs_explains_only_what_opcheck_meets_as_well() -> None:
    assert explains(what_to_mend(found(), concluded(), own("kernel"))) == [False]
    met = OperatorCheck("a::b", failures=(OperatorFailure("test_aot_dispatch_dynamic", "ValueError: no"),))
    assert explains(what_to_mend(found(met), concluded(), own("kernel"))) == [True]


def test_code_that_asks_for_values_that_no_compiler_has() -> None:
    reading = concluded(kind="torch._subclasses.fake_tensor.DataDependentOutputException")
    assert explains(what_to_mend(found(), reading, own("backward", raised=False))) == [True]
    assert what_to_mend(found(), reading, own("lowering", raised=False)) == ()


def test_a_broken_operator_explains_what_cannot_do_without_it() -> None:
    assert explains(what_to_mend(found(MUTATES), concluded(), None)) == [False]
    assert explains(what_to_mend(found(MUTATES), concluded(message="a::b failed"), None)) == [True]
    assert explains(what_to_mend(found(MUTATES), concluded(Symptom.WRONG_RESULT), None)) == [True]
    assert explains(what_to_mend(found(MUTATES, source="y = torch.ops.a.b(x)"), concluded(), None)) == [True]
    acquitted = found(MUTATES, source="y = torch.relu(x)")
    assert explains(what_to_mend(acquitted, concluded(Symptom.WRONG_RESULT), None)) == [False]
