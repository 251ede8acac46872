"""`triage list`, `triage clean`, `triage open`: the runs that there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from triage.cli.latest import named, names
from triage.model.places import RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triage.stories.runs import ListedRun

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
_HEADS = ("run", "stage", "symptom", "operation", "fingerprint", "age", "size")
_DIRECTORY = typer.Argument(Path(RUNS), metavar="[DIR]", help="The directory that holds the runs.")


def list_runs(
    directory: Path = _DIRECTORY,
    as_json: bool = typer.Option(False, "--json", help="Print a JSON array instead of a table."),
) -> None:
    """The runs in a directory, newest first: what each found, how old and how large it is."""
    from triage.stories.runs import runs_in

    runs = runs_in(directory)
    if as_json:
        import json

        from triage.model.codec import encode

        typer.echo(json.dumps([encode(run) for run in runs], indent=2))
        return
    for line in _table([_HEADS, *map(_row, runs)]):
        typer.echo(line)


def clean(
    directory: Path = _DIRECTORY,
    keep: int = typer.Option(5, metavar="N", min=0, help="The newest runs to keep."),
    older_than: float = typer.Option(0.0, metavar="DAYS", min=0.0, help="Remove only what is older than this."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
) -> None:
    """Remove old runs. What triage did not make, and a run that may still go on, is left alone.

    Exit status: 0 removed (or nothing to remove), 1 declined, or some could not be removed, 2, 70, 130 as for `run`.
    """
    from triage.stories.runs import remove, runs_in

    runs = [run for run in runs_in(directory)[keep:] if not run.going_on and run.age >= older_than * 86_400]
    if not runs:
        typer.echo("Nothing to remove.")
        return
    for line in _table([_HEADS, *map(_row, runs)]):
        typer.echo(line)
    if not yes and not _agreed(len(runs), sum(run.size for run in runs)):
        raise typer.Exit(1)
    left = remove(runs)
    for path in left:
        typer.echo(f"could not be removed: {path}", err=True)
    typer.echo(f"Removed {len(runs) - len(left)} of {len(runs)}.")
    raise typer.Exit(1 if left else 0)


def open_run(
    run: Path = typer.Argument(
        Path("latest"), metavar="[RUN]", help="A run directory, or latest.", autocompletion=names
    ),
) -> None:
    """Open the report of a run: report.html where it was written, else report.md.

    Its path is printed, and is all that happens where there is no browser.
    """
    from triage.stories.runs import page_of

    page = page_of(named(run)).resolve()
    typer.echo(str(page))
    if _has_screen():
        import webbrowser

        webbrowser.open(page.as_uri())


def _has_screen() -> bool:
    """Whether a window can be shown: elsewhere Python would start a browser of the terminal, in the place of the prompt."""
    import os
    import sys

    named = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return named or sys.platform in ("darwin", "win32")


def _agreed(count: int, size: int) -> bool:
    """Ask. Raises UsageError where nobody can answer."""
    import sys

    from triage.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(
            what=f"{count} runs would be removed, and nobody can be asked.",
            why="Standard input is no terminal.",
            next="Say so beforehand: triage clean --yes",
        )
    return typer.confirm(f"Remove these {count} runs ({size_words(size)})?")


def age_words(seconds: float) -> str:
    """`3 d`, `2 h`, `5 min`, `20 s`."""
    unit, length = next((row for row in _UNITS if seconds >= row[1]), ("s", 1))
    return f"{seconds / length:.0f} {unit}"


def size_words(size: int) -> str:
    """`120 KiB`, `3.4 MiB`."""
    return f"{size / 1024:.0f} KiB" if size < 1024**2 else f"{size / 1024**2:.1f} MiB"


def _row(run: ListedRun) -> tuple[str, ...]:
    partial = " (incomplete)" if run.complete is False else ""
    stage = "going on" if run.going_on else run.stage or run.kind
    facts = (run.path.name, stage, f"{run.symptom or ''}{partial}", run.op or "", run.fingerprint or "")
    return (*facts, age_words(run.age), size_words(run.size))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
