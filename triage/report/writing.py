"""What `triage explain` and `triage sweep` found, on disk: as data and as pages, redacted before they are written."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TypeVar

from triage.environments.files import write_whole
from triage.errors import UsageError, written
from triage.model.codec import decode, encode, field_names
from triage.model.explanation import Explanation
from triage.model.sweep import SCHEMA_VERSION, SweepReport
from triage.report.explanation import explanation_page
from triage.report.explanation_html import explanation_html
from triage.report.junit import junit
from triage.report.redact import Redactor
from triage.report.sweep import sweep_markdown
from triage.report.sweep_html import sweep_html

EXPLANATION, SWEEP = "explain.json", "sweep.json"
T = TypeVar("T")


def writing(file: Path) -> contextlib.AbstractContextManager[None]:
    """Raises UsageError where what is done inside ends in an OSError."""
    return written(str(file), "Name a directory that can be written, with room on its disk: --out DIR")


def redacted(found: T, redactor: Redactor) -> T:
    """The tree without what is private in it."""
    kind = type(found)
    return decode(kind, redactor.tree(encode(found), field_names(kind)))  # type: ignore[arg-type]


def write_explanation(directory: Path, found: Explanation, redactor: Redactor) -> Explanation:
    """Writes the data and both pages; returns what was written. Raises UsageError where it cannot be."""
    clean = redacted(found, redactor)
    with writing(directory / EXPLANATION):
        write_whole(directory / EXPLANATION, _as_json(clean))
        write_whole(directory / "explain.md", explanation_page(clean))
        write_whole(directory / "explain.html", explanation_html(clean))
    return clean


def write_sweep(directory: Path, found: SweepReport, redactor: Redactor, *, live: bool = False) -> SweepReport:
    """Writes data, pages and test results; returns what was written. A `live` page reads itself anew. Raises as the other."""
    clean = redacted(found, redactor)
    with writing(directory / SWEEP):
        write_whole(directory / SWEEP, _as_json(clean))
        write_whole(directory / "sweep.html", sweep_html(clean, live=live))
        if not live:
            write_whole(directory / "sweep.md", sweep_markdown(clean))
            write_whole(directory / "junit.xml", junit(clean))
    return clean


def _as_json(tree: Explanation | SweepReport) -> str:
    return json.dumps(encode(tree), indent=1, ensure_ascii=False) + "\n"


def load_sweep(place: Path) -> SweepReport:
    """The sweep of a directory, or of its `sweep.json`. Raises UsageError where it is none."""
    file = place / SWEEP if place.is_dir() else place
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"its schema_version is not {SCHEMA_VERSION}")
        return decode(SweepReport, data)
    except (OSError, ValueError, TypeError, KeyError) as error:
        other = f"{file.name} is not the {SWEEP} that a sweep of this version writes."
        raise UsageError(
            f"{place} is no sweep that can be read.",
            f"{type(error).__name__}: {error}" if isinstance(error, OSError) else other,
            "Name the directory that an earlier sweep was given with --out; the interpreter of a new one goes with --python.",
        ) from error
