"""`triage doctor`: is this target usable?"""

from __future__ import annotations

import typer

from triage.cli.options import PYTHON


def doctor(python: str = PYTHON) -> None:
    """Check the target: torch, compiler, Triton, caches, fork. One line each, with what to do.

    Exit status: 0 usable, 4 not usable.
    """
    from triage.stories.doctor import examine

    usable = True
    for check in examine(python):
        usable = usable and check.state != "bad"
        mark = {"good": "ok  ", "warn": "warn", "bad": "BAD "}[check.state]
        typer.echo(f"{mark}  {check.name:<27} {check.text}")
        if check.advice:
            typer.echo(f"      {'':<27} -> {check.advice}")
    raise typer.Exit(0 if usable else 4)
