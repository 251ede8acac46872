"""The issue body, and how to file it."""

from __future__ import annotations

from triage.model.report import TriageReport
from triage.report.issue import filing, issue_body
from triage.report.sources import Sources


def render(report: TriageReport, sources: Sources) -> str:
    return issue_body(report, sources) + filing(report, sources)
