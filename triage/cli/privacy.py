"""A word of warning where nothing is taken out of what is shown."""

from __future__ import annotations

import typer


def warn_unredacted(redact: bool) -> None:
    """On standard error, where redaction was switched off."""
    if not redact:
        typer.echo(
            "Warning: redaction is off. Names, paths and secrets of this machine stay in the report and in the files beside "
            "it; publish neither.",
            err=True,
        )
