"""What `triage explain` found, on disk: as data and as a page in Markdown and in HTML, redacted before it is written."""

from __future__ import annotations

import json
from pathlib import Path

from triage.environments.files import write_whole
from triage.model.codec import decode, encode, field_names
from triage.model.explanation import Explanation
from triage.report.explanation import explanation_page
from triage.report.explanation_html import explanation_html
from triage.report.redact import Redactor
from triage.report.writing import writing

FILE, PAGE, HTML = "explain.json", "explain.md", "explain.html"


def write_explanation(directory: Path, found: Explanation, redactor: Redactor) -> Explanation:
    """Writes the data and both pages; returns what was written. Raises UsageError where it cannot be."""
    clean = decode(Explanation, redactor.tree(encode(found), field_names(Explanation)))
    with writing(FILE, directory):
        write_whole(directory / FILE, json.dumps(encode(clean), indent=1, ensure_ascii=False) + "\n")
        write_whole(directory / PAGE, explanation_page(clean))
        write_whole(directory / HTML, explanation_html(clean))
    return clean
