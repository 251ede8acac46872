"""A comment for the thread of an issue that exists: what was run, the reproducer, what it needs, since when. No form."""

from __future__ import annotations

from triage.judge.naming import first_words, headline
from triage.model.report import TriageReport
from triage.model.stage import Stage
from triage.model.text import clip
from triage.report import wording
from triage.report.issue import parts_of
from triage.report.kinds import kind_of
from triage.report.labels import telling_workarounds
from triage.report.limits import ISSUE_LIMIT, ROOM_FOR_WORDS, Part, fit
from triage.report.markdown import clean, one_line
from triage.report.sources import Sources
from triage.report.templates import template_of
from triage.report.titles import title


def render(report: TriageReport, sources: Sources) -> str:
    kind = kind_of(report)
    parts = parts_of(report, sources) | {"telling": Part(_telling(report), "report.json", head=0.7, most=2_000)}
    template = template_of("comment.md.j2")
    fixed = {
        "report": report,
        "kind": kind,
        "title": title(report),
        "error": _error(report),
        "blamed": wording.STAGES.get(report.verdict.stage, ""),
        "ways": telling_workarounds(report),
        "window": wording.regression(report.regression) if report.regression else "",
        "located": kind == "bug" and report.verdict.stage is not Stage.NONE,
    }
    text = fit(parts, lambda texts: template.render(**fixed, **texts), ISSUE_LIMIT - ROOM_FOR_WORDS)
    if text is None:  # everything outside the parts is bounded well below the limit
        raise AssertionError("the fixed part of a comment is longer than a comment may be")
    return text


def _telling(report: TriageReport) -> str:
    """The error with torch's own frames: a thread has no use for the lines of the program."""
    signature = report.signature
    if signature is None:
        return ""
    frames = [f"    at {clip(one_line(frame), 200)}" for frame in signature.frames]
    return "\n".join([clean(headline(signature.exception_type, signature.message)).strip(), *frames])


def _error(report: TriageReport) -> str:
    """Type and first line of the message; empty where nothing was raised."""
    signature = report.signature
    if signature is None or signature.wrong is not None:
        return ""
    first = first_words(signature.message)
    told = first if first.startswith(f"{signature.exception_type}:") else headline(signature.exception_type, first)
    return clip(told, 300)
