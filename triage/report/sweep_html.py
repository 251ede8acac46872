"""What `triage sweep` found, as a page: bugs by size, each with its scripts and reproducer; every script on every rung."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triage.model.report import SAYS_NOTHING
from triage.model.rungs import LADDER
from triage.model.sweep import Against, Cluster, Fate, ScriptResult, SweepReport
from triage.model.text import clip
from triage.report.pages import bars, closing_chips, page
from triage.report.sweep import DIFFERENCES, not_compared, stage_of, summary
from triage.report.wording import plural

LIVE_SECONDS = 5
MOST_BARS = 30
_NAME = 160  # characters of a script's name
_FATES = {
    Fate.PASSES: ("passes", "ok"),
    Fate.FAILS: ("fails", "bad"),
    Fate.FLAKY: ("fails at times", "bad"),
    Fate.ROUNDING: ("rounding", "ok"),
    Fate.KNOWN: ("known cause", "skip"),
    Fate.SCRIPT: ("fails uncompiled too", "skip"),
    Fate.UNUSABLE: ("could not be run", "skip"),
    Fate.UNKNOWN: ("not known", "not_run"),
}
_STYLES = {"new": "bad", "changed": "bad", "fixed": "ok", "still": "skip", "flaky": "skip"}


def sweep_html(found: SweepReport, *, live: bool = False) -> str:
    """The page `sweep.html`. A `live` one reads itself anew while the sweep goes on."""
    pages = {result.script: _page(result) for result in found.results}
    bugs = found.bugs
    rungs = _rungs(found.results)
    return page(
        "sweep.html.j2",
        summary(found),
        chips=_chips(found, len(bugs)),
        live=LIVE_SECONDS if live else 0,
        against=_against(found.against, pages) if found.against is not None else None,
        bugs=[_cluster(cluster, pages) for cluster in bugs],
        known=[_cluster(cluster, pages) for cluster in found.clusters if cluster.known_cause is not None],
        drawn=_drawn(bugs),
        rungs=rungs,
        rows=[_row(result, rungs) for result in found.results],
        notes=found.notes,
        circumstances=_circumstances(found),
    )


def _chips(found: SweepReport, bugs: int) -> list[tuple[str, str]]:
    chips = [("", plural(found.scripts, "script")), ("bad" if found.failing else "good", f"{found.failing} fail")]
    chips += [("bad", plural(bugs, "bug"))] if bugs else []
    if found.against is not None:
        chips.append(("bad" if found.against.new else "good", f"{len(found.against.new)} new"))
    chips += [("", f"{name} {value}") for name, value in found.environment.items()]
    return chips + closing_chips(found.complete, found.incomplete_reason)


def _cluster(cluster: Cluster, pages: Mapping[str, str]) -> dict[str, Any]:
    notes = {doubt.script: f"doubtful: {clip(doubt.why, 200)}" for doubt in cluster.doubtful}
    parts = [stage_of(cluster), cluster.symptom.replace("_", " "), cluster.op or "", cluster.subsystem or ""]
    return {
        "id": cluster.id,
        "title": clip(cluster.title, 240),
        "facts": " · ".join(filter(None, parts)),
        "page": f"{cluster.representative}/report.html" if cluster.representative else "",
        "reproducer": cluster.reproducer or "",
        "lines": cluster.lines,
        "why": clip(cluster.why, 600),
        "cure": clip(cluster.cure, 800) if cluster.cure else "",
        "count": plural(len(cluster.members), "script"),
        "members": _members(cluster.members, pages, notes),
    }


def _members(scripts: Sequence[str], pages: Mapping[str, str], notes: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"name": clip(script, _NAME), "page": pages.get(script, ""), "note": notes.get(script, "")}
        for script in scripts
    ]


def _drawn(bugs: Sequence[Cluster]) -> dict[str, Any]:
    shown = bugs[:MOST_BARS]
    rows = [
        (f"{bug.id} {clip(bug.op or bug.symptom, 18)}", float(len(bug.members)), str(len(bug.members))) for bug in shown
    ]
    left = len(bugs) - len(shown)
    return {**bars(rows), "left": f"and {left} smaller ones" if left else ""}


def _against(against: Against, pages: Mapping[str, str]) -> dict[str, Any]:
    rows = [
        {
            "count": f"{len(scripts)} {name}",
            "style": _STYLES[name],
            "told": DIFFERENCES[name],
            "opened": name in ("new", "changed"),
            "members": _members(scripts, pages, {}),
        }
        for name in DIFFERENCES
        if (scripts := getattr(against, name))
    ]
    return {"base": clip(against.base, 200), "rows": rows, "alone": not_compared(against)}


def _rungs(results: Sequence[ScriptResult]) -> list[str]:
    """Those that any script was run on, from the plainest up."""
    seen = {name for result in results for name, outcome in result.rungs.items() if outcome != "not_run"}
    known = [rung.name for rung in LADDER if rung.name in seen]
    return [*known, *sorted(seen - set(known))]


def _row(result: ScriptResult, rungs: Sequence[str]) -> dict[str, Any]:
    told, style = _FATES[result.fate]
    return {
        "name": clip(result.script, _NAME),
        "page": _page(result),
        "fate": told,
        "style": style,
        "cluster": result.cluster or "",
        "cells": [_cell(result.rungs.get(rung, "not_run")) for rung in rungs],
        "seconds": f"{result.seconds:.0f}",
        "seen": clip(result.headline or result.note or "", 160) if result.fate is not Fate.PASSES else "",
    }


def _cell(outcome: str) -> dict[str, str]:
    style = "ok" if outcome == "ok" else "not_run" if outcome in SAYS_NOTHING else "bad"
    return {"style": style, "told": {"ok": "passes", "not_run": ""}.get(outcome, outcome.replace("_", " "))}


def _page(result: ScriptResult) -> str:
    """What a person reads of a script's run: of one that was only screened there is no page, but its data."""
    if not result.directory or result.fate in (Fate.UNUSABLE, Fate.UNKNOWN):
        return ""
    screened_only = result.fate is Fate.PASSES or result.inherited
    return f"{result.directory}/report.{'json' if screened_only else 'html'}"


def _circumstances(found: SweepReport) -> str:
    spent = f"{found.processes} runs of triage, {found.seconds / 60:.0f} minutes, engine {found.engine}"
    return ", ".join([*(f"{name} {value}" for name, value in found.environment.items()), spent])
