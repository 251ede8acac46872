"""`triage report`: render an earlier run again."""

from __future__ import annotations

from pathlib import Path

import typer

from triage.cli.latest import names
from triage.model.formats import BY_NAME


def report(
    run: Path = typer.Argument(
        Path("latest"), metavar="[RUN]", help="A run directory, its report.json, or latest.", autocompletion=names
    ),
    format: str = typer.Option("md", "--format", "-f", metavar="|".join(BY_NAME), help="What to print."),
    schema: bool = typer.Option(False, "--schema", help="Print the JSON schema of report.json instead; needs no run."),
) -> None:
    """Render the report of an earlier run again, on standard output."""
    import os

    from triage.cli.latest import named
    from triage.report.redact import Redactor
    from triage.report.store import render_again

    if schema:
        from triage.model.schema import schema_file

        typer.echo(schema_file("report").read_text(encoding="utf-8"), nl=False)
        return
    typer.echo(render_again(named(run), format, Redactor.of_this_machine(os.environ, Path.cwd())), nl=False)
