"""A template is looked at before a run of minutes begins."""

from __future__ import annotations

from pathlib import Path


def check_template(file: Path | None) -> None:
    """Raises UsageError where it cannot be read, is no template, or names a variable that does not exist."""
    if file is not None:
        from triage.report.templates import user_template  # jinja2 costs a start that few need

        user_template(file)
