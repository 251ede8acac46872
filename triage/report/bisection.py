"""A bisection in a reader's words: the section of a report, and the page of its own that `triage bisect` writes.

Every text from outside is clipped here, so the section has a bounded size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triage.model.bisection import Bisection, Kind, Standing, TestedVersion, from_json
from triage.model.text import clip
from triage.report.markdown import code, prose, table
from triage.report.pages import closing_chips, page

ROWS = 20
CELLS = 160  # of the strip: of longer histories those that were tested, and what lies between them as one
_STYLES = {Standing.GOOD: "ok", Standing.BAD: "bad", Standing.SKIP: "skip"}
_PLAIN = {Standing.GOOD: "passes", Standing.BAD: "fails", Standing.SKIP: "not tested"}
_RESULTS = {Standing.GOOD: "passes", Standing.BAD: "**fails**", Standing.SKIP: "not tested"}


def view_of(tree: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the template shows of a `regression` entry of a report; None where there is none that can be read."""
    found = _read(tree)
    return view(found) if found is not None else None


def _read(tree: Mapping[str, Any] | None) -> Bisection | None:
    if not tree:
        return None
    try:
        return from_json({"target": "", "kind": Kind.REGRESSED.value, "command": [], **tree})
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def view(found: Bisection) -> dict[str, Any]:
    """The parts of the section, as Markdown."""
    return {
        "heading": heading(found),
        "summary": prose(clip(found.summary, 600)),
        "complete": found.complete,
        "table": _table(found),
        "window": _window(found),
        "suspects": [
            f"{code(each.sha[:12])} {prose(clip(each.subject, 120))} ({prose(clip(each.why, 160))})"
            for each in (found.commits.commits if found.commits else ())
        ],
        "next": prose(what_next(found) or ""),
        "notes": [prose(clip(note, 300)) for note in found.notes[:8]],
        "circumstances": prose(clip(_tested_with(found), 300)),
        "command": code(clip(" ".join(found.command), 600)) if found.command else "",
    }


def heading(found: Bisection) -> str:
    """`Regression: 2.8.0 passes, 2.9.0 fails`."""
    if found.before is None or found.after is None:
        return "Since when"
    if found.kind is Kind.REGRESSED:
        return f"Regression: {clip(found.before, 40)} passes, {clip(found.after, 40)} fails"
    return f"Fixed: {clip(found.before, 40)} fails, {clip(found.after, 40)} passes"


def what_next(found: Bisection) -> str | None:
    """What to ask instead, of a bisection that came to its end and found no change; None of any other."""
    if not found.complete or found.before is not None or not found.tested:
        return None
    fixed, seen = found.kind is Kind.FIXED, {row.verdict for row in found.tested}
    unit = "commit" if found.axis == "commit" else "version"
    if found.changes:
        return "name the change that is meant: one of its sides with --good, the other with --bad"
    if seen == {Standing.SKIP}:
        return "choose other versions or another interpreter (--python 3.11), or name missing packages (--with PACKAGE)"
    if Standing.BAD not in seen:
        other = "" if fixed else f", or ask which one mended it (--find-fix --bad {unit.upper()})"
        return f"name a {unit} with which it fails (--bad {unit.upper()}){other}"
    older = "a newer" if fixed else "an older"
    return f"name {older} {unit} with which it passes (--good {unit.upper()})"


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


def bisection_html(found: Bisection) -> str:
    """The page `bisect.html`."""
    rows = [
        {
            "version": row.version,
            "style": _STYLES[row.verdict],
            "outcome": _PLAIN[row.verdict],
            "runs": f"{row.failures} of {row.runs} fail" if row.runs else "",
            "seconds": f"{row.seconds:.0f}" if row.seconds else "",
            "seen": clip(_said(row), 300),
            "log": row.log or "",
        }
        for row in found.tested
    ]
    chips = [("good" if found.before is not None else "other", heading(found)), ("", f"tested: {len(found.tested)}")]
    chips += closing_chips(found.complete, found.incomplete_reason)
    window = found.commits
    return page(
        "bisect.html.j2",
        found.summary or heading(found),
        chips=chips,
        found=found,
        history=strip(found),
        rows=rows,
        first="commit" if found.axis == "commit" else "torch",
        commits=f"{window.before[:12]} to {window.after[:12]}" if window is not None else "",
        link=window.url if window is not None and (window.url or "").startswith("https://") else "",
        suspects=window.commits if window is not None else (),
        circumstances=_tested_with(found),
        command=" ".join(found.command),
    )


def strip_of(tree: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The history in a `regression` entry of a report, as a strip; None where there is none that can be read."""
    found = _read(tree)
    return strip(found) if found is not None and found.tested else None


def strip(found: Bisection) -> dict[str, Any]:
    """The versions in order of age, each a cell: those that were tested with their outcome, the others between them."""
    tested = {row.version: row for row in found.tested}
    order = [name for name in found.versions if name in tested] if found.versions else []
    whole = list(found.versions) if len(order) == len(tested) else [row.version for row in found.tested]
    cells: list[dict[str, str]] = []
    between: list[str] = []
    for name in whole:
        row = tested.get(name)
        if row is None:
            between.append(name)
            continue
        cells += _untested(between, few=len(whole) <= CELLS)
        between = []
        outcome = _PLAIN[row.verdict]
        told = ". ".join(filter(None, (f"{name} {outcome}", clip(_said(row), 200))))
        cells.append({"style": _STYLES[row.verdict], "name": clip(name, 14), "outcome": outcome, "told": told})
    cells += _untested(between, few=len(whole) <= CELLS)
    told = ", ".join(f"{row.version} {_PLAIN[row.verdict]}" for row in found.tested[: 2 * ROWS])
    return {"cells": cells, "told": told, "summary": found.summary}


def _untested(names: list[str], *, few: bool) -> list[dict[str, str]]:
    if few:
        return [{"style": "none", "name": "", "outcome": "", "told": f"{name}: not needed"} for name in names]
    told = f"{len(names)} that were not needed, {names[0]} to {names[-1]}" if names else ""
    return [{"style": "none", "name": "", "outcome": "", "told": told}] if names else []


def _tested_with(found: Bisection) -> str:
    """What the versions have in common."""
    parts = [f"Python {found.python}" if found.python else "", f"{found.flavour} builds" if found.flavour else ""]
    parts += [found.platform, f"environments made: {found.installs}", "fresh compiler caches for every run"]
    return ", ".join(part for part in parts if part)
