"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence

import typer

WORDS = typer.Argument(
    None,
    metavar="SCRIPT [ARGS]...",
    help="The script and its arguments, or after -- a whole command.",
    show_default=False,
)
MODULE = typer.Option(None, "-m", "--module", metavar="MODULE", help="Run a module, as `python -m` does.")
PYTHON = typer.Option(None, metavar="PATH", help="Target interpreter (default: that of the active environment).")
NO_REDACT = typer.Option(
    False, "--no-redact", help="Leave names, paths and secrets in what is written: for your own eyes."
)
QUIET = typer.Option(False, "--quiet", "-q", help="Print only where the result lies.")
RAW = typer.Option(False, "--raw-command", hidden=True)


def check_given(words: Sequence[str] | None, module: str | None, command: str) -> None:
    """Raises UsageError where the command was given no program."""
    from triage.errors import UsageError

    if not words and module is None:
        raise UsageError(
            what=f"There is nothing to {command}.",
            why=f"`triage {command}` needs a script, -m MODULE, or a command after --.",
            next=f"For example: triage {command} train.py",
        )


def warn_unredacted(redact: bool) -> None:
    """On standard error, where redaction was switched off."""
    if not redact:
        typer.echo(
            "Warning: redaction is off. Names, paths and secrets of this machine stay in the report and in the files beside "
            "it; publish neither.",
            err=True,
        )
