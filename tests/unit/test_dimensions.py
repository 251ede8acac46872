"""A search may shrink sizes, but not move the difference between a kernel and its fake to a dimension that was right."""

from triage.judge.dimensions import SameDimensions, differences
from triage.judge.judgement import CandidateResult, Judgement
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import FailureSignature, signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Verdict

COLUMN_SHORT = "expected size 4==4, stride 12==11 at dim=0; expected size 12==11, stride 1==1 at dim=1"
SHRUNK = "expected size 2==1, stride 1==1 at dim=1"
ROWS_SHORT = "expected size 4==1, stride 1==1 at dim=0"
COLUMN_LONG = "expected size 1==2, stride 1==1 at dim=1"
TRANSPOSED = "expected size 4==4, stride 12==1 at dim=0; expected size 12==12, stride 1==4 at dim=1"


def result(message: str) -> CandidateResult:
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", message))
    return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)


def wanted(message: str) -> FailureSignature:
    found = result(message).signature
    assert found is not None
    return found


def judged(oracle: SameDimensions, *messages: str) -> list[bool]:
    return [oracle.judge(result(message)).verdict is Verdict.SAME_FAILURE for message in messages]


def test_sizes_differ_where_strides_may_follow() -> None:
    assert differences(wanted(COLUMN_SHORT)) == {(1, True)}
    assert differences(wanted(TRANSPOSED)) == {(0, True), (1, False)}
    assert differences(wanted("index out of bounds")) == differences(None) == frozenset()


def test_the_difference_stays_in_the_dimensions_of_the_program() -> None:
    signature = wanted(COLUMN_SHORT)
    oracle = SameDimensions(SignatureOracle(signature), differences(signature))
    assert judged(oracle, ROWS_SHORT, SHRUNK, COLUMN_LONG, COLUMN_SHORT) == [False, True, False, True]
    other = oracle.judge(result(ROWS_SHORT))
    assert other == Judgement(Verdict.UNRESOLVED, "sizes or strides differ in another dimension")


def test_what_fails_first_says_where() -> None:
    oracle = SameDimensions(SignatureOracle(wanted(COLUMN_SHORT)))
    assert judged(oracle, TRANSPOSED, ROWS_SHORT, SHRUNK) == [False, True, False]


def test_other_failures_are_judged_as_before() -> None:
    oracle = SameDimensions(SignatureOracle(wanted("no such size: 3")), frozenset())
    assert judged(oracle, "no such size: 12", COLUMN_SHORT) == [True, False]
