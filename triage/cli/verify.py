"""`triage verify`: is the failure still the same?"""

from __future__ import annotations

from pathlib import Path

import typer

from triage.cli.latest import named, names
from triage.cli.options import PYTHON


def verify(
    what: Path = typer.Argument(
        Path("latest"),
        metavar="[RUN_OR_REPRO]",
        help="A run directory, latest, or a reproducer script.",
        autocompletion=names,
    ),
    python: str = PYTHON,
    runs: int = typer.Option(3, metavar="N", min=1, help="Fresh processes to run it in."),
    timeout: float = typer.Option(120.0, metavar="SECONDS", min=1.0, help="Limit of one run."),
) -> None:
    """Run a reproducer again in fresh processes and say whether the failure is still the same.

    Exit status: 0 the same failure every time, 1 it passes, fails otherwise, or (a script) without torch.compile too, 2, 4,
    70, 130 as for `run`.
    """
    from triage.stories.verify import verify_again

    told = verify_again(named(what), python, runs, timeout)
    for line in told.lines:
        typer.echo(line)
    raise typer.Exit(0 if told.same else 1)
