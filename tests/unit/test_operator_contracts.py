"""What `torch.library.opcheck` found, and what a custom operator breaks by it."""

import pytest

from triage.culprit.contracts import broken_by, findings_of
from triage.model.own_code import OperatorCheck, OperatorFailure
from triage.probe.opchecks import ENDED, operator_checks

SCHEMA, FAKE, DYNAMIC = "test_schema", "test_faketensor", "test_aot_dispatch_dynamic"


def check(test: str = SCHEMA, message: str = "", **more: str) -> OperatorCheck:
    failures = (OperatorFailure(test, message),) if message else ()
    return OperatorCheck("mylib::scale", "/home/ann/ops.py:4", "float32[6], 0.5", failures=failures, **more)


@pytest.mark.parametrize(
    ("found", "what", "cure"),
    [
        (check(SCHEMA, "RuntimeError: Argument x is not defined as mutable but was mutated"),
         "changes its input `x` without saying so", 'mutates_args=("x",)'),
        (check(SCHEMA, "RuntimeError: Argument h is not defined to alias output but was aliasing"),
         "returns an alias of its input `h`", "clone"),
        (check(FAKE, "RuntimeError: There was no fake impl registered for <CustomOpDef(mylib::scale)>."),
         "has no fake kernel", 'register_fake("mylib::scale")'),
        (check(FAKE, "MetadataMismatchError: Stride mismatch!", kernel_gives="float32[4], strides (2)",
               fake_gives="float32[4], strides (1)"), "has a fake kernel that disagrees with its kernel", "what the kernel does"),
    ],
)  # fmt: skip
def test_a_broken_promise_has_words_and_a_cure(found: OperatorCheck, what: str, cure: str) -> None:
    (finding,) = broken_by(found)
    assert finding.title == f"Custom operator `mylib::scale` (ops.py:4) {what}"
    assert cure in finding.cure and finding.place == "ops.py:4"


def test_what_may_be_the_compilers_fault_blames_nobody() -> None:
    assert broken_by(check(DYNAMIC, "RuntimeError: Found a custom operator whose output has alias annotations")) == ()
    assert broken_by(check()) == ()


def test_only_an_operator_that_the_failure_needs_explains_it() -> None:
    broken = check(SCHEMA, "Argument x is not defined as mutable but was mutated")
    assert [finding.explains for finding in findings_of([broken], ["mylib::scale"])] == [True]
    assert [finding.explains for finding in findings_of([broken], ["other::op"])] == [False]


def said(kind: str, **facts: str) -> dict[str, str]:
    return {"e": kind, "operator": "img::hwc", **facts}


def test_a_test_that_never_ended_is_a_failure() -> None:
    (found,) = operator_checks(
        [said("opcheck", inputs="float32[2]"), said("opcheck_test", test=SCHEMA, outcome="began")]
    )
    assert found.failures == (OperatorFailure(SCHEMA, ENDED),)


def test_of_several_calls_the_one_that_shows_something_is_told() -> None:
    (found,) = operator_checks([
        said("opcheck", inputs="float32[2]"), said("opcheck_test", test=FAKE, outcome="ok"),
        said("opcheck", inputs="float32[3]"), said("opcheck_test", test=FAKE, outcome="failed", message="no"),
        said("opcheck_gives", kernel="a", fake="b"),
    ])  # fmt: skip
    assert found.inputs == "float32[3]" and found.fake_gives == "b"
    assert found.failures == (OperatorFailure(FAKE, "no"),)


def test_where_the_check_itself_could_not_go_on_no_test_failed() -> None:
    (found,) = operator_checks([
        said("opcheck", inputs=""), said("opcheck_test", test=FAKE, outcome="began"), said("opcheck_note", reason="too large"),
    ])  # fmt: skip
    assert found.failures == () and found.note == "too large"
