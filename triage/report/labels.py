"""The labels that PyTorch's triage rubric gives to a failure, as text: people outside the project cannot set labels.

Source of the rubric: the "PT2 triage" notes of pytorch/pytorch and the labels its maintainers set on compile bugs.
"""

from __future__ import annotations

from collections.abc import Mapping

from triage.model.report import TriageReport
from triage.model.stage import Stage, Symptom

_BY_STAGE = {
    Stage.DYNAMO: ("module: dynamo",),
    Stage.AOT_AUTOGRAD: ("module: pt2-dispatcher", "module: aotdispatch"),
    Stage.DECOMP_PARTITION: ("module: decompositions",),
    Stage.INDUCTOR: ("module: inductor",),
}


def suggested_labels(report: TriageReport) -> tuple[str, ...]:
    """Labels for an issue about this failure; none where PyTorch's compiler is not to blame."""
    stage = report.verdict.stage
    if stage not in _BY_STAGE or report.explanation is not None:
        return ()
    labels = ["oncall: pt2", *_BY_STAGE[stage]]
    if stage is Stage.INDUCTOR and cpu_only(report.environment):
        labels.append("oncall: cpu inductor")
    if any(row.setting == "dynamic=False" and row.outcome == "ok" for row in report.ablation):
        labels.append("module: dynamic shapes")
    if report.verdict.symptom is Symptom.WRONG_RESULT:
        labels.append("module: correctness (silent)")
    if report.verdict.symptom is Symptom.CRASH:
        labels.append("module: crash")
    if report.regression and report.regression.get("last_good"):
        labels.append("module: regression")
    if report.workarounds:
        labels.append("has workaround")
    return tuple(labels)


def cpu_only(environment: Mapping[str, str]) -> bool:
    """Whether nothing but the CPU was there: by the device that was named, by the wheel, or by CUDA's absence."""
    device = environment.get("device", "")
    if device:
        return device.lower() == "cpu"
    if environment.get("torch", "").endswith("+cpu"):
        return True
    return environment.get("cuda", "present").lower() in ("", "none", "no", "false", "not available", "n/a")
