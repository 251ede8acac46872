"""What a sweep reads from the report of a run."""

from dataclasses import replace

from triage.model.own_code import Finding
from triage.model.report import ReportVerdict, SubsystemSearch, TriageReport
from triage.model.stage import Stage, Symptom
from triage.model.sweep import Fate
from triage.sweep.facts import facts_of


def test_an_operator_without_fake_kernel_is_a_known_cause_also_where_a_finding_says_it() -> None:
    said = Finding("Custom operator `shop::price` (shop.py:7) has no fake kernel", "because", "Register one.")
    report = TriageReport({}, (), ReportVerdict(Symptom.EXCEPTION, Stage.DYNAMO), findings=(said,))
    facts = facts_of(report, None)
    assert facts.fate is Fate.KNOWN and facts.known_cause == "no_fake_kernel" and "shop.py:7" in facts.explanation
    for other in (replace(said, explains=False), replace(said, title="Your backend raises")):
        assert facts_of(replace(report, findings=(other,)), None).fate is Fate.FAILS


def test_the_part_with_what_it_was_applied_to_is_kept_where_that_is_an_operation() -> None:
    report = TriageReport({}, (), ReportVerdict(Symptom.EXCEPTION, Stage.DECOMP_PARTITION))
    found = SubsystemSearch(("decomposition",), 4, "aten.add.Tensor")
    assert facts_of(replace(report, subsystem=found), None).applied == "decomposition of aten.add.Tensor"
    for other in (replace(found, what="cpp_fused_add_0"), replace(found, names=("decomposition", "fusion")), None):
        assert facts_of(replace(report, subsystem=other), None).applied is None
