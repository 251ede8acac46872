"""`triage run`: everything, from an unmodified script to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from triage.pipeline import Run


def run(
    words: list[str] | None = typer.Argument(
        None,
        metavar="SCRIPT [ARGS]...",
        help="The script and its arguments, or after -- a whole command.",
        show_default=False,
    ),
    module: str | None = typer.Option(
        None, "-m", "--module", metavar="MODULE", help="Run a module, as `python -m` does."
    ),
    python: str = typer.Option(
        None, metavar="PATH", help="Target interpreter (default: that of the active environment)."
    ),
    out: Path = typer.Option(None, metavar="DIR", help="Run directory (default: triage-out/SCRIPT-TIME)."),
    timeout: float = typer.Option(None, metavar="SECONDS", help="Limit of one probe (default: 300)."),
    budget: float = typer.Option(None, metavar="SECONDS", help="Limit of the whole run (default: none)."),
    jobs: int = typer.Option(None, metavar="N", help="Processes side by side (default: by cores and memory)."),
    no_reduce: bool = typer.Option(False, "--no-reduce", help="Locate the stage only."),
    engine: str = typer.Option(None, metavar="auto|native|repro_after", help="Which reducer (default: auto)."),
    accuracy: str = typer.Option(
        None,
        metavar="auto|always|never",
        help="Compare compiled graphs with eager: if the script raises nothing (auto), if its own check fails too "
        "(always), never.",
    ),
    format: str = typer.Option(None, metavar="md,json,github", help="Formats of the report (default: md,json)."),
    resume: Path | None = typer.Option(
        None, metavar="RUN", help="Go on with a run that was interrupted or ran out of budget."
    ),
    as_json: bool = typer.Option(
        False, "--json", help="Print the report tree on standard output, and nothing else there."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print only where the report lies."),
    raw: bool = typer.Option(False, "--raw-command", hidden=True),
) -> None:
    """Find the guilty stage of a script that fails under torch.compile, shrink the failure, write a report.

    Exit status: 0 a failure was located, 1 nothing to report, 2 wrong usage, 3 the script also fails without
    torch.compile, 4 the target cannot be used, 5 the budget ended, 70 a bug of triage, 130 interrupted.
    """
    from triage.cli.view import listener_for, show_result
    from triage.errors import UsageError
    from triage.events import Emitter
    from triage.pipeline import run as run_pipeline
    from triage.probe.target import find_python, make_target
    from triage.settings import load_settings

    given = {"python": python, "out": out, "timeout": timeout, "budget": budget, "jobs": jobs, "engine": engine}
    given |= {"accuracy": accuracy, "format": format, "reduce": False if no_reduce else None}
    if resume is not None:
        done = _resumed(resume, words, module, given, quiet, as_json)
        show_result(done, quiet=quiet, as_json=as_json)
        raise typer.Exit(done.exit_code)
    if not words and module is None:
        raise UsageError(
            what="There is nothing to run.",
            why="`triage run` needs a script, -m MODULE, or a command after --.",
            next="For example: triage run train.py",
        )
    settings = load_settings(given)
    cwd = Path.cwd()
    target = make_target(words or [], module=module, raw=raw, python=find_python(settings.python), cwd=cwd)
    command = (*(("-m", module) if module else ()), *(("--",) if raw else ()), *(words or ()))
    with listener_for(quiet=quiet, as_json=as_json) as listener:
        done = run_pipeline(target, tuple(str(word) for word in command), settings, Emitter(listener))
    show_result(done, quiet=quiet, as_json=as_json)
    raise typer.Exit(done.exit_code)


def _resumed(
    directory: Path, words: list[str] | None, module: str | None, given: dict[str, Any], quiet: bool, as_json: bool
) -> Run:
    """Go on with a run as it was asked for, except for limits and formats that are given anew."""
    from triage.cli.view import listener_for
    from triage.errors import UsageError
    from triage.events import Emitter
    from triage.pipeline import run as run_pipeline
    from triage.probe.target import make_target
    from triage.resume import earlier_run
    from triage.settings import load_settings

    if words or module or given["out"] is not None or given["python"] is not None:
        raise UsageError(
            what="A resumed run keeps its script, its interpreter and its directory.",
            why="--resume was given together with one of them.",
            next=f"triage run --resume {directory}   (--budget, --timeout, --jobs and --format may be given anew)",
        )
    earlier = earlier_run(directory)
    before = {name: value for name, value in earlier.settings.items() if name not in ("out", "budget")}
    settings = load_settings(before | {name: value for name, value in given.items() if value is not None})
    module, raw, rest = earlier.words
    target = make_target(rest, module=module, raw=raw, python=earlier.python, cwd=earlier.cwd)
    with listener_for(quiet=quiet, as_json=as_json) as listener:
        return run_pipeline(target, earlier.command, settings, Emitter(listener), earlier)
