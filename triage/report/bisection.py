"""A bisection in a reader's words: the section of a report, and the page of its own that `triage bisect` writes.

Every text from outside is clipped here, so the section has a bounded size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triage.model.bisection import Bisection, Commit, Kind, Standing, TestedVersion, from_json
from triage.report.markdown import clip, code, prose, table

ROWS = 20
_RESULTS = {Standing.GOOD: "passes", Standing.BAD: "**fails**", Standing.SKIP: "not tested"}


def view_of(tree: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the template shows of a `regression` entry of a report; None where there is none that can be read."""
    if not tree:
        return None
    try:
        found = from_json({"target": "", "kind": Kind.REGRESSED.value, "command": [], **tree})
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    return view(found)


def view(found: Bisection) -> dict[str, Any]:
    """The parts of the section, as Markdown."""
    return {
        "heading": heading(found),
        "summary": prose(clip(found.summary, 600)),
        "complete": found.complete,
        "table": _table(found),
        "window": _window(found),
        "suspects": [_suspect(commit) for commit in (found.commits.commits if found.commits else ())],
        "notes": [prose(clip(note, 300)) for note in found.notes[:8]],
        "circumstances": _circumstances(found),
        "command": code(clip(" ".join(found.command), 600)) if found.command else "",
    }


def heading(found: Bisection) -> str:
    """`Regression: 2.8.0 passes, 2.9.0 fails`."""
    if found.before is None or found.after is None:
        return "Since when"
    if found.kind is Kind.REGRESSED:
        return f"Regression: {clip(found.before, 40)} passes, {clip(found.after, 40)} fails"
    return f"Fixed: {clip(found.before, 40)} fails, {clip(found.after, 40)} passes"


def _table(found: Bisection) -> str:
    rows = _nearest(found)
    lines = [[code(clip(row.version, 40)), _RESULTS[row.verdict], prose(clip(_said(row), 160))] for row in rows]
    text = table(["commit" if found.axis == "commit" else "torch", "outcome", "what was seen"], lines) if lines else ""
    left = len(found.tested) - len(rows)
    return text + (f"\n\n{left} more versions are in `bisect.json`." if left else "")


def _nearest(found: Bisection) -> list[TestedVersion]:
    """The rows to show, in order of age: all, or those round the window."""
    rows = list(found.tested)
    if len(rows) <= ROWS:
        return rows
    names = [row.version for row in rows]
    middle = names.index(found.after) if found.after in names else len(rows) // 2
    first = max(0, min(middle - ROWS // 2, len(rows) - ROWS))
    return rows[first : first + ROWS]


def _said(row: TestedVersion) -> str:
    return ". ".join(part.rstrip(".") for part in (row.error, row.note) if part)


def _window(found: Bisection) -> str:
    window = found.commits
    if window is None:
        return ""
    ends = f"{code(window.before[:12])} to {code(window.after[:12])}"
    count = f", {window.total} commits" if window.total is not None else ""
    link = f" ({window.url})" if window.url else ""
    note = f" {prose(clip(window.note, 300))}" if window.note else ""
    return f"{ends}{count}{link}.{note}"


def _suspect(commit: Commit) -> str:
    return f"{code(commit.sha[:12])} {prose(clip(commit.subject, 120))} ({prose(clip(commit.why, 160))})"


def _circumstances(found: Bisection) -> str:
    """What the versions were tested with."""
    parts = [f"Python {found.python}" if found.python else "", f"{found.flavour} builds" if found.flavour else ""]
    parts += [found.platform, f"environments made: {found.installs}", "fresh compiler caches for every run"]
    return prose(clip(", ".join(part for part in parts if part), 300))
