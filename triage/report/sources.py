"""The files of a run directory that a rendered report quotes, beside the tree itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from triage.environments.files import read_journal
from triage.model.report import SAYS_NOTHING, LadderRow, TriageReport
from triage.report.graph_picture import Drawn, graph_of
from triage.report.logs import telling_log
from triage.report.redact import Redactor
from triage.report.reduced_graph import drawn_of
from triage.report.timeline import Span, spans_of

ERROR_LOG = "error.log"
MOST_STEPS = 400
LONGEST_SECRET = 20_000
LONGEST = 1_000_000  # bytes of a log that are looked at, from its end


@dataclass(frozen=True)
class Sources:
    """Texts, empty where there are none. `error_log` is what the failing run printed, from its traceback on.

    `template` is the user's own in the place of the issue's body. `curve` is how the reduction went: (candidates that were
    run, operations of the smallest until then) at each that was found; lines where a text was reduced (`curve_unit`).
    """

    reproducer: str = ""
    passing: str = ""
    error_log: str = ""
    template: Path | None = None
    curve: tuple[tuple[int, int], ...] = ()
    curve_unit: str = "operations"
    graph: tuple[Drawn, ...] = ()  # of the program, the one that is to blame
    reduced: tuple[Drawn, ...] = ()  # what is left of it in the reproducer
    spans: tuple[Span, ...] = ()  # what ran when


def read_sources(run_dir: Path, report: TriageReport, redactor: Redactor) -> Sources:
    """The quoted files, redacted. A file that is missing, or not inside the run directory, is an empty text."""
    reproducer = _read(run_dir, report.reproducer.path) if report.reproducer is not None else ""
    passing = _read(run_dir, report.nearest_passing.path) if report.nearest_passing is not None else ""
    curve, unit = _curve(run_dir)
    quoted = redactor.source(reproducer)
    spans = spans_of(run_dir)
    return Sources(
        reproducer=quoted,
        passing=redactor.source(passing),
        error_log=redactor.text(_read(run_dir, report.artifacts.get("error_log", ""))),
        curve=curve,
        curve_unit=unit,
        graph=graph_of(run_dir, report, redactor),
        reduced=drawn_of(quoted, Path(report.reproducer.path).name if report.reproducer is not None else ""),
        spans=tuple(replace(span, name=redactor.text(span.name), told=redactor.text(span.told)) for span in spans),
    )


def _curve(run_dir: Path) -> tuple[tuple[tuple[int, int], ...], str]:
    """From the run's journal; of several reductions the last. Numbers alone are taken from it."""
    found: list[tuple[int, int | None, int]] = []
    for entry in read_journal(run_dir, "reduced"):
        queries, ops, lines = (entry.get(name) for name in ("queries", "ops", "lines"))
        if isinstance(queries, int) and isinstance(lines, int) and isinstance(ops, int | None):
            found = [] if found and queries < found[-1][0] else found
            found.append((queries, ops, lines))
    unit = "lines" if any(not ops for _, ops, _ in found) else "operations"
    return tuple((queries, lines if unit == "lines" else ops or 0) for queries, ops, lines in found[-MOST_STEPS:]), unit


def failing_log(run_dir: Path, report: TriageReport) -> str:
    """What the user's own run printed, from its traceback on, else the first run with this failure; empty where none was kept."""
    rows = [row for row in report.ladder if row.log and row.on == "script" and row.outcome not in ("ok", *SAYS_NOTHING)]
    for row in sorted(rows, key=_own_first):
        text = _read(run_dir, row.log or "")
        if text.strip():
            return telling_log(text)
    return ""


def _own_first(row: LadderRow) -> tuple[int, bool]:
    face = ("same", None, "other").index(row.face) if row.face in ("same", None, "other") else 1
    return face, not Path(row.log or "").name.startswith("as_is")


def _read(run_dir: Path, name: str) -> str:
    if not name:
        return ""
    root = run_dir.resolve()
    place = (root / name).resolve()
    # A report may come from somebody else: it must not make us quote files of this machine.
    if not place.is_relative_to(root) or not place.is_file():
        return ""
    try:
        with place.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LONGEST))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return text if size <= LONGEST else _from_a_whole_line(text)


def _from_a_whole_line(text: str) -> str:
    """Half a secret would not be recognised. Of one endless line what no secret is as long as goes."""
    end = text.find("\n")
    return text[end + 1 :] if 0 <= end < len(text) - 1 else text[LONGEST_SECRET:]
