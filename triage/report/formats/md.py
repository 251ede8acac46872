"""Markdown: an issue body in the order of PyTorch's own form."""

from __future__ import annotations

from triage.model.report import TriageReport
from triage.report.issue import issue_body
from triage.report.sources import Sources


def render(report: TriageReport, sources: Sources) -> str:
    return issue_body(report, sources)
