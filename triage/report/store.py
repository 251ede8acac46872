"""Reports on disk: written whole or not at all, redacted before they are written, read back with a clear word on failure.

`report.json` is the only source of every other format, so rendering an earlier run again gives the same text.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from triage.environments.files import write_whole
from triage.errors import UsageError, why
from triage.model.codec import decode
from triage.model.formats import BY_NAME, FORMATS
from triage.model.report import SCHEMA_VERSION, TriageReport
from triage.report.formats import render, renderer_of
from triage.report.issue import issue_url
from triage.report.redact import Redactor
from triage.report.sources import ERROR_LOG, Sources, failing_log, read_sources
from triage.report.trace import TRACE_LOG, TraceWork, redacted_trace
from triage.report.writing import redacted, writing

FILES = {row.name: row.file for row in FORMATS}


def write_report(
    run_dir: Path,
    report: TriageReport,
    formats: Iterable[str],
    redactor: Redactor,
    template: Path | None = None,
    trace_work: TraceWork | None = None,
) -> TriageReport:
    """Writes `report.json`, the formats asked for, and what is fit to be attached: `error.log`, what the failing run printed,
    and `trace.log`, what the compiler wrote of it (`trace_work` may have begun with that).

    Returns the report as written: redacted, its artifacts completed. Raises UsageError for an unknown format or where
    nothing can be written.
    """
    wanted = list(dict.fromkeys(("json", *formats)))
    for name in wanted:
        renderer_of(name)  # raises for one that does not exist, before anything is written
    redactor = redactor.knowing(report.command).counting()
    log = redactor.text(failing_log(run_dir, report))
    trace = redacted_trace(run_dir, report, redactor, trace_work)
    attached = {"error_log": (ERROR_LOG, log), "trace_log": (TRACE_LOG, trace)}
    written = {BY_NAME[name].artifact: FILES[name] for name in wanted}
    written |= {artifact: name for artifact, (name, text) in attached.items() if text}
    clean = redacted(replace(report, artifacts={**report.artifacts, **written}), redactor)
    # The files are found by the names that the run gave them, whatever redaction made of these names.
    sources = read_sources(run_dir, report, redactor)
    clean = replace(clean, redacted=_counted(report.redacted, redactor.counted))
    if sources.reproducer != read_sources(run_dir, report, Redactor()).reproducer:
        clean = replace(
            clean,
            notes=(*clean.notes, "Private values in the reproducer were replaced by placeholders in this report."),
        )
    sources = replace(sources, error_log=log)
    clean, sources = _with_template(clean, sources, template)
    with writing(run_dir / FILES["json"]):
        for name, text in attached.values():
            if text:
                write_whole(run_dir / name, text)
        for name in wanted:
            write_whole(run_dir / FILES[name], render(clean, name, sources))
    return clean


def _with_template(report: TriageReport, sources: Sources, template: Path | None) -> tuple[TriageReport, Sources]:
    """With the user's template, where it can be used for this report: a whole run is not lost by a slip in it."""
    if template is None:
        return report, sources
    chosen = replace(sources, template=template)
    try:
        render(report, "md", chosen)
    except UsageError as error:
        return replace(report, notes=(*report.notes, f"{error.what} {error.why}")), sources
    return report, chosen


def report_in(run: Path) -> TriageReport | None:
    """The report of a run directory; None where there is none that can be read."""
    with contextlib.suppress(UsageError):
        return load_report(run)
    return None


def load_report(path: Path) -> TriageReport:
    """The report of a run directory, or of a `report.json`. Raises UsageError where there is none that can be read."""
    file = path / FILES["json"] if path.is_dir() else path
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"{path} holds no report.",
            f"There is no file {file}." if path.exists() else f"{path} does not exist.",
            "Name a run directory that has one (triage list shows them), or a report.json.",
        ) from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read.", why(error), "Check its permissions.") from error
    except ValueError as error:  # also what is not UTF-8
        raise _unreadable(file, f"It is not JSON: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("schema_version"), int):
        raise _unreadable(file, "It has no schema_version, so triage did not write it.")
    if data["schema_version"] > SCHEMA_VERSION:
        raise UsageError(
            f"{file} was written by a newer triage.",
            f"Its schema version is {data['schema_version']}; this triage reads up to {SCHEMA_VERSION}.",
            "Upgrade: pip install --upgrade torch-triage",
        )
    try:
        return decode(TriageReport, data)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise _unreadable(file, f"Its fields are not those of a report: {error}") from error


def render_again(path: Path, fmt: str, redactor: Redactor, template: Path | None = None) -> str:
    """An earlier run as `fmt`, from its directory or its `report.json`."""
    report, sources = _read_again(path, redactor)
    return render(report, fmt, replace(sources, template=template))


def issue_url_of(path: Path, redactor: Redactor) -> str:
    """The address that opens a new issue with an earlier run. Raises UsageError where there is nothing to file."""
    url = issue_url(*_read_again(path, redactor))
    if not url:
        raise UsageError(
            "There is nothing to file with PyTorch.",
            f"The report of {path} is of no bug of the compiler; its first lines say why.",
            f"Read it: triage report {path}",
        )
    return url


def _read_again(path: Path, redactor: Redactor) -> tuple[TriageReport, Sources]:
    report = load_report(path)
    run_dir = path if path.is_dir() else path.parent
    redactor = redactor.knowing(report.command).counting()
    clean, sources = redacted(report, redactor), read_sources(run_dir, report, redactor)
    return replace(clean, redacted=_counted(report.redacted, redactor.counted)), sources


def _counted(before: dict[str, int] | None, now: dict[str, int] | None) -> dict[str, int] | None:
    """What was taken out of a report by now: a later rendering finds again what it reads anew, and no more."""
    if before is None or now is None:
        return now
    return {kind: max(before.get(kind, 0), now.get(kind, 0)) for kind in {**before, **now}}


def _unreadable(file: Path, why: str) -> UsageError:
    return UsageError(
        f"{file} is not a report that can be read.", why, "Run triage again on the script to get a new one."
    )
