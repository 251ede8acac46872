"""What `triage sweep` found, on disk: as data, as pages (Markdown, HTML), as test results; redacted before."""

from __future__ import annotations

import json
from pathlib import Path

from triage.environments.files import write_whole
from triage.errors import UsageError
from triage.model.codec import decode, encode, field_names
from triage.model.sweep import SCHEMA_VERSION, SweepReport
from triage.report.junit import junit
from triage.report.redact import Redactor
from triage.report.sweep import sweep_markdown
from triage.report.sweep_html import sweep_html
from triage.report.writing import writing

FILE, PAGE, HTML, JUNIT = "sweep.json", "sweep.md", "sweep.html", "junit.xml"


def write_sweep(directory: Path, found: SweepReport, redactor: Redactor, *, live: bool = False) -> SweepReport:
    """Writes all of it; returns what was written. A `live` page reads itself anew. Raises UsageError where it cannot be."""
    clean = decode(SweepReport, redactor.tree(encode(found), field_names(SweepReport)))
    with writing(FILE, directory):
        write_whole(directory / FILE, json.dumps(encode(clean), indent=1, ensure_ascii=False) + "\n")
        write_whole(directory / HTML, sweep_html(clean, live=live))
        if not live:
            write_whole(directory / PAGE, sweep_markdown(clean))
            write_whole(directory / JUNIT, junit(clean))
    return clean


def load_sweep(place: Path) -> SweepReport:
    """The sweep of a directory, or of its `sweep.json`. Raises UsageError where it is none."""
    file = place / FILE if place.is_dir() else place
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"its schema_version is not {SCHEMA_VERSION}")
        return decode(SweepReport, data)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{place} is no sweep that can be read.",
            f"{type(error).__name__}: {error}",
            "Name the directory that an earlier sweep was given with --out.",
        ) from error
