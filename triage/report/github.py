"""Filing the report: the address of a prefilled issue, and the command for GitHub's own client.

The issue form of pytorch/pytorch cannot be prefilled (its fields have no ids), a blank issue can: with the body where it
fits the address, else with the form and a title. Sizes: GitHub answers 414 above 8,191 bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from urllib.parse import quote

from triage.report.limits import Part, fit, whole_in_report

REPOSITORY = "pytorch/pytorch"
FORM = "pt2-bug-report.yml"
URL_LIMIT = 8_191


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
