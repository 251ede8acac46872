"""`triage report`: render an earlier run again."""

from __future__ import annotations

from pathlib import Path

import typer

from triage.cli.latest import named, names
from triage.model.formats import BY_NAME


def report(
    run: Path = typer.Argument(
        Path("latest"), metavar="[RUN]", help="A run directory, its report.json, or latest.", autocompletion=names
    ),
    format: str = typer.Option("md", "--format", "-f", metavar="|".join(BY_NAME), help="What to print."),
    template: Path = typer.Option(
        None, metavar="FILE", help="Your own template (jinja2) for the formats md and github."
    ),
    open_: bool = typer.Option(
        False, "--open", help="Open a new issue with this report in a browser; the address is printed in any case."
    ),
    no_redact: bool = typer.Option(
        False, "--no-redact", help="Leave names, paths and secrets as the run directory has them: for your own eyes."
    ),
    schema: bool = typer.Option(False, "--schema", help="Print the JSON schema of report.json instead; needs no run."),
) -> None:
    """Render the report of an earlier run again, on standard output."""
    from triage.cli.options import warn_unredacted
    from triage.report.redact import redactor_here
    from triage.report.store import issue_url_of, render_again
    from triage.session.settings import load_settings

    if schema:
        from triage.model.schema import schema_file

        typer.echo(schema_file("report").read_text(encoding="utf-8"), nl=False)
        return
    warn_unredacted(not no_redact)
    redactor = redactor_here(Path.cwd(), redact=not no_redact)
    if open_:
        _open_in_browser(issue_url_of(named(run), redactor))
    else:
        own = load_settings({"template": template}).template
        typer.echo(render_again(named(run), format, redactor, own), nl=False)


def _open_in_browser(url: str) -> None:
    """Prints the address first: a browser that does not come up costs nothing."""
    import webbrowser

    typer.echo(url)
    try:
        opened = webbrowser.open(url)
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        typer.echo("No browser could be opened; the address is above.", err=True)
