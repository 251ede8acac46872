"""The report as an issue of pytorch/pytorch: its body, and how to file it. Pure apart from reading the templates."""

from __future__ import annotations

import difflib
import itertools
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import quote

from triage.errors import UsageError
from triage.model.bisection import Bisection
from triage.model.report import TriageReport
from triage.model.text import clip
from triage.report import bisection, markdown
from triage.report.duplicates import REPOSITORY
from triage.report.facts import facts
from triage.report.kinds import is_of_backend, is_wanted, kind_of
from triage.report.labels import suggested_labels
from triage.report.limits import ISSUE_LIMIT, ROOM_FOR_WORDS, Part, fit, whole_in_report
from triage.report.logs import readable
from triage.report.sources import ERROR_LOG, Sources
from triage.report.templates import template_of, user_template
from triage.report.titles import title

_DIFF_LINES = 16
# The issue form cannot be prefilled (its fields have no ids), a blank issue can: with the body where it fits the address,
# else with the form and a title.
FORM = "pt2-bug-report.yml"
URL_LIMIT = 8_191  # bytes; above it GitHub answers 414


def issue_body(report: TriageReport, sources: Sources) -> str:
    """The report in the order of PyTorch's pt2-bug-report form, short enough for an issue with room to write in."""
    text = fit(parts_of(report, sources), _body(report, sources), ISSUE_LIMIT - ROOM_FOR_WORDS)
    if text is None and sources.template is not None:
        raise UsageError(
            f"The template {sources.template} makes a text too long for an issue.",
            f"With all logs cut it has more than the {ISSUE_LIMIT - ROOM_FOR_WORDS:,} characters that GitHub takes of it.",
            "Leave something out of it.",
        )
    if text is None:  # everything outside the parts is bounded well below the limit
        raise AssertionError("the fixed part of a report is longer than an issue may be")
    return text


def bisection_page(found: Bisection) -> str:
    """A bisection as a page of its own: the same section that a report has."""
    return template_of("bisect.md.j2").render(bisection=bisection.view(found))


def attachments(report: TriageReport) -> list[str]:
    """The files that may be attached: redacted, and of kinds that maintainers' tools do not strip."""
    named = (report.artifacts.get(name, "") for name in ("error_log", "trace_log"))
    return [name for name in named if name.endswith((".log", ".txt"))]


def issue_url(report: TriageReport, sources: Sources) -> str:
    """The address that opens a new issue with this report; empty for what is no bug of the compiler."""
    if not is_wanted(report):
        return ""
    return new_issue_url(title(report), parts_of(report, sources), _body(report, sources))


def filing(report: TriageReport, sources: Sources) -> str:
    """How to file the report, as a comment; for what is no bug of the compiler, why not to."""
    wanted = is_wanted(report)
    heading = title(report)
    return template_of("github.md.j2").render(
        wanted=wanted,
        cause=report.known_cause,
        backend=report.own_code if is_of_backend(report) else None,
        duplicates=report.duplicates.url if report.duplicates is not None else "",
        url=issue_url(report, sources),
        attachments=attachments(report),
        labels=suggested_labels(report),
        command=create_command(heading, report.artifacts.get("report_md", "report.md")),
    )


def parts_of(report: TriageReport, sources: Sources) -> dict[str, Part]:
    """The quoted texts of a report, each with how far it may be cut."""
    reproducer = report.reproducer.path if report.reproducer is not None else "repro.py"
    return {
        "reproducer": Part(markdown.clean(sources.reproducer), reproducer, head=0.6, precious=True, mark="# "),
        "telling": Part(_telling(report), "report.json", head=0.7, most=4_000),
        "log": Part(markdown.clean(sources.error_log), report.artifacts.get("error_log", ERROR_LOG), most=16_000),
        "versions": Part(markdown.clean(report.collect_env), "report.json", head=0.5, most=16_000),
    }


def _body(report: TriageReport, sources: Sources) -> Callable[[Mapping[str, str]], str]:
    fixed = {
        "report": report,
        "kind": kind_of(report),
        "wanted": is_wanted(report),
        "title": title(report),
        "facts": facts(report),
        "labels": suggested_labels(report),
        "difference": _difference(sources),
        "bisection": bisection.view_of(report.regression),
        "attachments": attachments(report),
    }
    template = user_template(sources.template) if sources.template else template_of("issue.md.j2").render
    return lambda texts: template({**fixed, **texts})


def _telling(report: TriageReport) -> str:
    signature = report.signature
    if signature is None:
        return ""
    excerpt = readable(markdown.clean(signature.excerpt)).strip("\n")
    if excerpt:
        return excerpt
    text = f"{signature.exception_type}: {markdown.clean(signature.message)}".strip()
    frames = [f"    at {clip(markdown.one_line(frame), 200)}" for frame in signature.frames[:3]]
    return "\n".join([text, *frames])


def _difference(sources: Sources) -> str:
    """What makes the reproducer pass, as a diff without headers; empty where it is too long to help."""
    if not sources.passing or not sources.reproducer:
        return ""
    failing, passing = (
        list(itertools.dropwhile(lambda line: line.startswith("#"), text.splitlines()))  # without the comment on top
        for text in (sources.reproducer, sources.passing)
    )
    lines = list(difflib.unified_diff(failing, passing, lineterm="", n=0))[2:]
    changed = [clip(line, 200) for line in lines if not line.startswith("@@")]
    return "\n".join(changed) if len(changed) <= _DIFF_LINES else ""


def new_issue_url(title: str, parts: Mapping[str, Part], body: Callable[[Mapping[str, str]], str]) -> str:
    """An address of at most 8,191 bytes that opens a new issue with this title and, where it fits, this body.

    Logs and versions are cut from the body to make it fit, the reproducer is not.
    """
    prefix = f"https://github.com/{REPOSITORY}/issues/new?"
    head = f"{prefix}title={_quoted(title)}&body="
    text = fit(whole_in_report(parts), body, URL_LIMIT - len(head), lambda text: len(_quoted(text)), cut_precious=False)
    return f"{prefix}template={FORM}&title={_quoted(title)}" if text is None else head + _quoted(text)


def create_command(title: str, body_file: str) -> str:
    """What to type to file the report with `gh`."""
    return f"gh issue create --repo {REPOSITORY} --title {shlex.quote(title)} --body-file {shlex.quote(body_file)}"


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")
