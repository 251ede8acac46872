"""The report as one page: nothing is loaded from elsewhere, and nothing of the target's can do anything in it.

Every text is escaped by the template engine, without terminal colours and control characters; the page's own style and script are
the only ones that its content security policy lets run (by their hashes). Styles are classes: the policy forbids attributes.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from triage.model.report import AblationRow, LadderRow, SubsystemRow, TriageReport
from triage.model.stage import Symptom
from triage.report import wording
from triage.report.kinds import kind_of
from triage.report.markdown import clean
from triage.report.redaction_words import redacted_words
from triage.report.sources import Sources
from triage.report.templates import templates_dir

MOST_LOG = 200_000  # characters, from its end
MOST_ROWS = 200
_OUTCOMES = {"ok": "passes", "same_failure": "same failure", "other_failure": "another failure", "not_run": "not run"}
_GOOD, _LEFT, _RIGHT = "ok", 130.0, 690.0


def render(report: TriageReport, sources: Sources) -> str:
    css, js = (_asset(name) for name in ("report.css", "report.js"))
    log = clean(sources.error_log)
    text = _environment().get_template("report.html.j2").render(
        report=report,
        title=wording.title(report),
        css=Markup(css),
        js=Markup(js),
        css_hash=_hash(css),
        js_hash=_hash(js),
        chips=_chips(report),
        cause=f"{report.known_cause.explanation} {report.known_cause.cure}" if report.known_cause else "",
        facts=_facts(report),
        reproducer=sources.reproducer.rstrip("\n"),
        claim=_claim(report),
        ladder=[_rung(row) for row in report.ladder],
        tables=_tables(report),
        **_values(report),
        **_times(report),
        log=log[-MOST_LOG:],
        log_cut=len(log) > MOST_LOG,
        versions=wording.environment_line(report.environment),
        files=sorted({name for name in report.artifacts.values() if name and not name.endswith(".html")}),
        command=f"triage run {wording.shell(report.command)}",
        redacted=redacted_words(report.redacted),
    )  # fmt: skip
    return text.encode("utf-8", "replace").decode()


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_dir()),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters.update(ticks=_ticks, file=_file)
    return environment


def _asset(name: str) -> str:
    return (templates_dir() / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names what it lets run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _ticks(text: str) -> Markup:
    """Plain text whose `code spans` are code; everything is escaped."""
    parts = clean(str(text)).split("`")
    if len(parts) % 2 == 0:  # one is left over
        return escape(clean(str(text)))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def _file(name: str) -> str:
    """The address of a file beside the page: nothing else than a path below it."""
    return "./" + quote(clean(name).lstrip("/"))


def _chips(report: TriageReport) -> list[tuple[str, str]]:
    """What a reader sees first: a style and a word or two."""
    verdict, made = report.verdict, report.reproducer
    bad = kind_of(report) in ("bug", "own", "script")
    found = [("bad" if bad else "other", verdict.symptom.value.replace("_", " "))]
    if verdict.symptom is Symptom.NONE:
        found = [("good", "passes")]
    found.append(("bad" if bad else "other", f"stage: {verdict.stage.value}"))
    if made is not None:
        held = (
            f"verified {made.verified_runs} of {made.runs or made.verified_runs}" if made.verified else "not verified"
        )
        found.append(("good" if made.verified else "other", f"reproducer {held}"))
    found += [
        ("", f"{name} {report.environment[name]}") for name in ("torch", "python") if report.environment.get(name)
    ]
    if not report.complete:
        found.append(("other", f"incomplete: {report.incomplete_reason or 'not known why'}"))
    return found


def _facts(report: TriageReport) -> list[tuple[str, str]]:
    culprit, signature, verdict = report.culprit, report.signature, report.verdict
    line = verdict.line or (signature.user_line if signature is not None else None)
    way = next(
        (f"{each.change}{f' (`git apply {each.patch}`)' if each.patch else ''}" for each in report.ways_round), ""
    )
    size = "" if report.reproducer is None else f"{wording.plural(report.reproducer.lines, 'line')}" + (
        f", {wording.plural(report.reproducer.ops, 'operation')}" if report.reproducer.ops is not None else ""
    )  # fmt: skip
    found = (
        ("Line", f"`{line.replace('`', '')}`" if line else ""),
        ("Operation", f"`{culprit.op}`" if culprit is not None and culprit.op else ""),
        ("Part", culprit.subsystem if culprit is not None and culprit.subsystem else ""),
        ("Direction", verdict.direction or ""),
        ("How often", f"{verdict.failures} of {wording.plural(verdict.runs, 'run')}" if verdict.runs else ""),
        ("Reproducer", size),
        ("Way round", way or next(iter(report.workarounds), "")),
    )
    return [(name, value) for name, value in found if value]


def _claim(report: TriageReport) -> str:
    return wording.reproducer_claim(report.reproducer, report.signature) if report.reproducer is not None else ""


def _rung(row: LadderRow) -> dict[str, str]:
    style = "ok" if row.outcome == _GOOD else "" if row.outcome in ("not_run", "invalid") else "bad"
    outcome = "passes" if row.outcome == _GOOD else row.outcome.replace("_", " ")
    on = "on the captured graph" if row.on == "graph" else ""
    note = "; ".join(filter(None, (on, row.note or "")))
    return {"rung": row.rung, "style": style, "outcome": outcome, "time": wording.seconds(row.seconds), "note": note}


def _tables(report: TriageReport) -> list[tuple[str, str, list[dict[str, str]]]]:
    """Heading, name of the first column, rows: those that say most come first."""
    parts = report.subsystem.rows if report.subsystem is not None else ()
    found = (
        ("Parts of the compiler, each switched off", "part", [_cell(row.subsystem, row) for row in parts]),
        ("Settings", "setting", [_cell(row.setting, row) for row in report.ablation]),
    )
    return [(heading, first, rows[:MOST_ROWS]) for heading, first, rows in found if rows]


def _cell(name: str, row: AblationRow | SubsystemRow) -> dict[str, str]:
    outcome = row.outcome if row.outcome in _OUTCOMES else "not_run"
    spent = f"{row.seconds:.1f}" if row.seconds else ""
    return {"name": name, "outcome": outcome, "told": _OUTCOMES[outcome], "seconds": spent, "note": row.note or ""}


def _values(report: TriageReport) -> dict[str, Any]:
    """Eager, compiled and double precision on one line; nothing where they are not three numbers, or two."""
    accuracy = report.accuracy or {}
    named = [("eager", accuracy.get("eager")), ("compiled", accuracy.get("compiled")), ("exact", accuracy.get("exact"))]
    known = [(name, value) for name, value in named if isinstance(value, (int, float)) and math.isfinite(value)]
    if len(known) < 2 or not accuracy.get("kind"):
        return {"values": [], "values_told": ""}
    low, high = min(value for _, value in known), max(value for _, value in known)
    rows = []
    for number, (name, value) in enumerate(known):
        x = (_LEFT + _RIGHT) / 2 if high == low else _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)
        right = x > (_LEFT + _RIGHT) / 2
        rows.append(
            {
                "name": name,
                "x": round(x, 1),
                "y": 20 + 24 * number,
                "label_x": round(x + (-12 if right else 12), 1),
                "anchor": "end" if right else "start",
                "told": f"{value:.8g}" + (" (double precision)" if name == "exact" else ""),
            }
        )
    return {"values": rows, "values_told": ", ".join(f"{name} {value:.8g}" for name, value in known)}


def _times(report: TriageReport) -> dict[str, Any]:
    steps: Sequence[tuple[str, float]] = [
        (name, spent) for name, spent in report.timings.items() if name != "total" and spent >= 0.05
    ]
    longest = max((spent for _, spent in steps), default=0.0)
    rows = [
        {
            "name": name.replace("_", " "),
            "y": 22 * number,
            "width": round(480 * spent / longest, 1),
            "told": wording.seconds(spent),
        }
        for number, (name, spent) in enumerate(steps)
    ]
    return {"times": rows, "times_told": ", ".join(f"{row['name']} {row['told']}" for row in rows)}
