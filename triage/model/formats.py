"""The formats of a report, as one table. `triage.report.formats.NAME` renders it: a row here and a file there make a format.

A table of words only, so that the command line and the settings know the formats without what renders them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """`name` is what --format takes, `file` where it lies in a run directory, `artifact` its key in the report's artifacts."""

    name: str
    file: str
    artifact: str


FORMATS = (
    Format("md", "report.md", "report_md"),
    Format("json", "report.json", "report_json"),
    Format("github", "issue.md", "issue_md"),
    Format("comment", "comment.md", "comment_md"),
    Format("sarif", "report.sarif", "report_sarif"),
    Format("html", "report.html", "report_html"),
)
BY_NAME = {row.name: row for row in FORMATS}
