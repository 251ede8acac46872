"""The report as one page (`triage/report/pages.py` says what a page is)."""

from __future__ import annotations

import math
from typing import Any

from triage.model.formats import FORMATS
from triage.model.report import SAYS_NOTHING, AblationRow, LadderRow, SubsystemRow, TriageReport
from triage.model.stage import Symptom
from triage.report import wording
from triage.report.bisection import strip_of
from triage.report.graph_picture import picture, reduced_picture
from triage.report.kinds import kind_of
from triage.report.logs import coloured
from triage.report.markdown import clean
from triage.report.pages import bars, closing_chips, page
from triage.report.redaction_words import redacted_words
from triage.report.sources import ERROR_LOG, Sources
from triage.report.timeline import timeline
from triage.report.titles import title
from triage.report.trace import TRACE_LOG

MOST_LOG = 200_000  # characters, from its end
MOST_ROWS = 200
_OUTCOMES = {"ok": "passes", "same_failure": "same failure", "other_failure": "another failure", "not_run": "not run"}
_GOOD, _LEFT, _RIGHT = "ok", 130.0, 690.0
_CURVE_LEFT, _CURVE_WIDTH, _CURVE_FOOT = 40.0, 640.0, 120.0


def render(report: TriageReport, sources: Sources) -> str:
    log, made = clean(sources.error_log), report.reproducer
    return page(
        "report.html.j2",
        title(report),
        report=report,
        chips=_chips(report),
        cause=f"{report.known_cause.explanation} {report.known_cause.cure}" if report.known_cause else "",
        facts=_facts(report),
        reproducer=sources.reproducer.rstrip("\n"),
        claim=wording.reproducer_claim(made, report.signature) if made is not None else "",
        ladder=[_rung(row) for row in report.ladder],
        tables=_tables(report),
        **_values(report),
        curve=_curve(sources),
        graph=picture(sources.graph, report),
        reduced=reduced_picture(sources.reduced, report),
        history=strip_of(report.regression),
        times=_times(report),
        ran=timeline(sources.spans),
        error=coloured(clean(report.signature.excerpt)) if report.signature is not None else [],
        log=coloured(log[-MOST_LOG:]),
        log_cut=min(len(log), MOST_LOG) if len(log) > MOST_LOG else 0,
        versions=wording.environment_line(report.environment),
        files=_files(report),
        command=f"triage run {wording.shell(report.command)}",
        redacted=redacted_words(report.redacted),
    )


def _chips(report: TriageReport) -> list[tuple[str, str]]:
    """What a reader sees first: a style and a word or two."""
    verdict, made = report.verdict, report.reproducer
    bad = kind_of(report) in ("bug", "own", "script")
    found = [("bad" if bad else "other", verdict.symptom.value.replace("_", " "))]
    if verdict.symptom is Symptom.NONE:
        found = [("good", "passes")]
    found.append(("bad" if bad else "other", f"stage: {verdict.stage.value}"))
    if made is not None:
        times = f"{made.verified_runs} of {made.runs or made.verified_runs}"
        held = f"verified {times}" if made.verified else "not verified"
        held = "may show another failure" if made.doubt else held
        found.append(("good" if made.verified and not made.doubt else "other", f"reproducer {held}"))
    return found + closing_chips(report.complete, report.incomplete_reason, report.environment)


def _facts(report: TriageReport) -> list[tuple[str, str]]:
    culprit, signature, verdict = report.culprit, report.signature, report.verdict
    line = verdict.line or (signature.user_line if signature is not None else None)
    way = next(
        (f"{each.change}{f' (`git apply {each.patch}`)' if each.patch else ''}" for each in report.ways_round), ""
    )
    module = (
        f"`{culprit.module.replace('`', '')}`{wording.modules_alike(culprit)}" if culprit and culprit.module else ""
    )
    size = "" if report.reproducer is None else f"{wording.plural(report.reproducer.lines, 'line')}" + (
        f", {wording.plural(report.reproducer.ops, 'operation')}" if report.reproducer.ops is not None else ""
    )  # fmt: skip
    found = (
        (
            wording.line_title(signature) if signature is not None else "Line",
            f"`{line.replace('`', '')}`" if line else "",
        ),
        ("Function", wording.function_alone(report) or ""),
        ("Module", module),
        ("Operation", f"`{culprit.op}`" if culprit is not None and culprit.op else ""),
        ("Part", culprit.subsystem if culprit is not None and culprit.subsystem else ""),
        ("Way round", way or next(iter(report.workarounds), "")),
        ("Direction", verdict.direction or ""),
        ("How often", f"{verdict.failures} of {wording.plural(verdict.runs, 'run')}" if verdict.runs else ""),
        ("Reproducer", size),
    )
    return [(name, value) for name, value in found if value]


def _rung(row: LadderRow) -> dict[str, str]:
    style = "ok" if row.outcome == _GOOD else "" if row.outcome in SAYS_NOTHING else "bad"
    outcome = "passes" if row.outcome == _GOOD else row.outcome.replace("_", " ")
    spent = wording.seconds(row.seconds) if row.seconds else ""
    on = "on the captured graph" if row.on == "graph" else ""
    note = "; ".join(filter(None, (spent, on, row.note or "")))
    rung = "as the script has it" if row.rung == "as_is" else row.rung
    return {"rung": rung, "style": style, "outcome": outcome, "note": note}


def _files(report: TriageReport) -> list[tuple[str, str]]:
    """(file of the run directory, what must be known before it is passed on), the ones that may be attached first."""
    named: list[str | None] = [name for key, name in report.artifacts.items() if not key.endswith("_html")]
    named += [each.log for each in report.ladder]
    named += [each.path for each in (report.reproducer, report.nearest_passing, *report.siblings) if each is not None]
    named += [each.patch for each in report.ways_round]
    named += [report.subsystem.before, report.subsystem.after] if report.subsystem is not None else []
    rows = [(name, _raw(name)) for name in dict.fromkeys(filter(None, named))]
    return sorted(rows, key=lambda row: (row[1] != "", row[0]))


def _raw(name: str) -> str:
    """What is in the run directory as it was written, and not redacted."""
    redacted = name in {ERROR_LOG, TRACE_LOG, *(row.file for row in FORMATS)}
    return "" if redacted else "as it was written: look through it before you pass it on"


def _tables(report: TriageReport) -> list[tuple[str, str, list[dict[str, str]]]]:
    """Heading, name of the first column, rows: those that say most come first."""
    parts = report.subsystem.rows if report.subsystem is not None else ()
    found = (
        ("Parts of the compiler, each switched off", "part", [_cell(row.subsystem, row) for row in parts]),
        ("Settings", "setting", [_cell(row.setting, row) for row in report.ablation]),
    )
    order = list(_OUTCOMES)
    for _, _, rows in found:
        rows.sort(key=lambda row: order.index(row["outcome"]))
    return [(heading, first, rows[:MOST_ROWS]) for heading, first, rows in found if rows]


def _cell(name: str, row: AblationRow | SubsystemRow) -> dict[str, str]:
    outcome = row.outcome if row.outcome in _OUTCOMES else "not_run"
    spent = f"{row.seconds:.1f}" if row.seconds else ""
    return {"name": name, "outcome": outcome, "told": _OUTCOMES[outcome], "seconds": spent, "note": row.note or ""}


def _values(report: TriageReport) -> dict[str, Any]:
    """Eager, compiled and double precision on one line; nothing where fewer than two of them are numbers, NaN included.

    NaN and infinity stand at the end of the line, away from the others, which then stand together.
    """
    accuracy = report.accuracy or {}
    named = [(name, _number(accuracy.get(name))) for name in ("eager", "compiled", "exact")]
    known = [(name, value) for name, value in named if value is not None]
    if len(known) < 2 or not accuracy.get("kind"):
        return {"values": [], "values_told": ""}
    finite = [value for _, value in known if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if len(finite) == len(known) else (0.0, 0.0)
    rows = []
    for number, (name, value) in enumerate(known):
        if not math.isfinite(value):
            x = _LEFT if value == -math.inf else _RIGHT
        else:
            x = (_LEFT + _RIGHT) / 2 if high == low else _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)
        right = x > (_LEFT + _RIGHT) / 2
        rows.append(
            {
                "name": name,
                "x": round(x, 1),
                "y": 20 + 24 * number,
                "label_x": round(x + (-12 if right else 12), 1),
                "anchor": "end" if right else "start",
                "told": _told(value) + (" (double precision)" if name == "exact" else ""),
            }
        )
    return {"values": rows, "values_told": ", ".join(f"{name} {_told(value)}" for name, value in known)}


def _number(value: object) -> float | None:
    """What JSON has no number for is told as text: `nan`, `inf`, `-inf`."""
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        return None
    return float(value) if isinstance(value, (int, float, str)) else None


def _told(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.8g}"


def _times(report: TriageReport) -> dict[str, Any]:
    steps = [(name, spent) for name, spent in report.timings.items() if name != "total" and spent >= 0.05]
    return bars([(name.replace("_", " "), spent, wording.seconds(spent)) for name, spent in steps])


def _curve(sources: Sources) -> dict[str, Any]:
    """The size of the smallest candidate that fails the same way, over the candidates that were run until then."""
    steps, unit = sources.curve, sources.curve_unit
    if len(steps) < 2 or steps[-1][0] <= 0 or steps[0][1] <= steps[-1][1]:
        return {}
    most, last = max(size for _, size in steps), steps[-1][0]
    points: list[str] = []
    before = steps[0][1]
    for queries, size in steps:  # until a smaller one is found the size stays
        x = round(_CURVE_LEFT + queries / last * _CURVE_WIDTH, 1)
        points += [f"{x},{round(_CURVE_FOOT * (1 - each / most) + 10, 1)}" for each in (before, size)]
        before = size
    told = f"{steps[0][1]} {unit} at first, {steps[-1][1]} after {wording.plural(last, 'candidate')}"
    return {"points": " ".join(points), "told": told, "most": most, "unit": unit, "last": last}
