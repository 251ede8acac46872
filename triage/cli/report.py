"""`triage report`: render an earlier run again."""

from __future__ import annotations

from pathlib import Path

import typer

from triage.model.formats import BY_NAME


def report(
    run: Path = typer.Argument(Path("latest"), metavar="[RUN]", help="A run directory, its report.json, or latest."),
    format: str = typer.Option("md", "--format", "-f", metavar="|".join(BY_NAME), help="What to print."),
    no_redact: bool = typer.Option(
        False, "--no-redact", help="Leave names, paths and secrets as the run directory has them: for your own eyes."
    ),
) -> None:
    """Render the report of an earlier run again, on standard output."""
    import os

    from triage.cli.latest import named
    from triage.cli.privacy import warn_unredacted
    from triage.report.redact import redactor_here
    from triage.report.store import render_again

    redact = not no_redact
    warn_unredacted(redact)
    typer.echo(render_again(named(run), format, redactor_here(os.environ, Path.cwd(), redact=redact)), nl=False)
