"""`triage compare`: one bug or two?"""

from __future__ import annotations

from pathlib import Path

import typer

from triage.cli.latest import named, names


def compare(
    left: Path = typer.Argument(
        ..., metavar="RUN", help="A run directory, its report.json, or latest.", autocompletion=names
    ),
    right: Path = typer.Argument(..., metavar="RUN", help="The other one.", autocompletion=names),
    as_json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Do two runs show the same bug, and what differs between them?

    Exit status: 0 the same bug, 1 another one or not known, 2, 70, 130 as for `run`.
    """
    import os

    from triage.model.codec import encode
    from triage.report.redact import Redactor
    from triage.report.store import load_report
    from triage.stories.compare_runs import Likeness
    from triage.stories.compare_runs import compare as compared

    redactor = Redactor.of_this_machine(os.environ, Path.cwd())
    found = compared(load_report(named(left)), load_report(named(right)))
    if as_json:
        import json

        typer.echo(json.dumps(redactor.tree(encode(found)), indent=2, ensure_ascii=False))
    else:
        said = {Likeness.SAME: "The same bug", Likeness.OTHER: "Not the same bug", Likeness.UNKNOWN: "Not known"}
        lines = [f"{said[found.likeness]}. {found.because}"]
        for row in found.differences:
            lines += [f"{row.what}:", f"  {row.left or '-'}", f"  {row.right or '-'}"]
        typer.echo(redactor.text("\n".join(lines)))
    raise typer.Exit(0 if found.likeness is Likeness.SAME else 1)
