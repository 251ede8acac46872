"""The report tree as text: a file per format, named as `--format` names it, whose `render(report, sources)` gives the whole text.

The tree and the sources are taken as they are: redaction is the business of `report/store.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from triage.errors import UsageError
from triage.model.formats import BY_NAME
from triage.model.report import TriageReport
from triage.report.sources import Sources

Renderer = Callable[[TriageReport, Sources], str]


def render(report: TriageReport, name: str, sources: Sources) -> str:
    """The report in this format. Raises UsageError for a format that does not exist."""
    return renderer_of(name)(report, sources)


def renderer_of(name: str) -> Renderer:
    """What renders the format. Raises UsageError for one that does not exist."""
    if name not in BY_NAME:
        raise UsageError(
            f"There is no report format {name!r}.",
            f"triage writes {', '.join(BY_NAME)}.",
            f"Use --format with one of {', '.join(BY_NAME)}.",
        )
    renderer: Renderer = importlib.import_module(f"triage.report.formats.{name}").render
    return renderer
