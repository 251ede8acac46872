"""`triage run`: everything, from an unmodified script to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from triage.cli.options import MODULE, NO_REDACT, PYTHON, QUIET, RAW, WORDS, check_given, warn_unredacted
from triage.model.formats import BY_NAME

if TYPE_CHECKING:
    from triage.stories.resume import EarlierRun
    from triage.stories.run import RunResult

# Settings of a run that it is not gone on with: its place and time, and what it was to leave out.
NOT_KEPT = ("out", "budget", "screen", "operation_only")


def run(
    words: list[str] | None = WORDS,
    module: str | None = MODULE,
    python: str = PYTHON,
    out: Path = typer.Option(None, metavar="DIR", help="Run directory (default: triage-out/SCRIPT-TIME)."),
    timeout: float = typer.Option(None, metavar="SECONDS", help="Limit of one probe (default: 300)."),
    budget: float = typer.Option(None, metavar="SECONDS", help="Limit of the whole run (default: none)."),
    jobs: int = typer.Option(None, metavar="N", help="Processes side by side (default: by cores and memory)."),
    no_reduce: bool = typer.Option(False, "--no-reduce", help="Locate the stage only."),
    reproducer_only: bool | None = typer.Option(
        None,
        "--reproducer-only/--whole",
        help="Stop at the verified reproducer: no settings, no guilty part, no ways round.",
    ),
    screen: bool = typer.Option(
        False, "--screen", help="Only ask whether it fails, and how: the script as it is, compared with eager."
    ),
    operation_only: bool = typer.Option(
        False,
        "--operation-only",
        help="Stop where one operation fails alone, or a text is gone over once: nothing is made smaller or verified.",
    ),
    engine: str = typer.Option(None, metavar="auto|native|repro_after", help="Which reducer (default: auto)."),
    accuracy: str = typer.Option(
        None,
        metavar="auto|always|never",
        help="Compare compiled graphs with eager: if the script raises nothing (auto), if its own check fails too "
        "(always), never.",
    ),
    format: str = typer.Option(None, metavar=",".join(BY_NAME), help="Formats of the report (default: md,html,json)."),
    include_data: bool = typer.Option(
        False, "--include-data", help="Put what a failure needs of the program's own data into the reproducer."
    ),
    template: Path = typer.Option(None, metavar="FILE", help="Your own template (jinja2) for report.md and issue.md."),
    no_redact: bool = NO_REDACT,
    resume: Path | None = typer.Option(
        None,
        metavar="[RUN]",
        help="Go on with a run that was interrupted or ran out of budget (without RUN: the latest).",
    ),
    as_json: bool = typer.Option(
        False, "--json", help="Print the report tree on standard output, and nothing else there."
    ),
    quiet: bool = QUIET,
    raw: bool = RAW,
) -> None:
    """Find the guilty stage of a script that fails under torch.compile, shrink the failure, write a report.

    Exit status: 0 a failure was located, 1 nothing to report, 2 wrong usage, 3 the script also fails without
    torch.compile, 4 the target cannot be used, 5 the budget ended or the script cannot be run again (a partial report),
    70 a bug of triage, 130 interrupted.
    """
    from triage.cli.result import show_result

    given = {
        "python": python, "out": out, "timeout": timeout, "budget": budget, "jobs": jobs, "engine": engine,
        "accuracy": accuracy, "format": format, "template": template, "reproducer_only": reproducer_only,
        "reduce": False if no_reduce else None, "redact": False if no_redact else None,
        "include_data": include_data or None, "screen": screen or None, "operation_only": operation_only or None,
    }  # fmt: skip
    earlier = None
    if resume is not None:
        earlier = _earlier(resume, bool(words) or any(each is not None for each in (module, out, python)))
        if earlier.ended is not None and all(value is None for value in given.values()):
            _tell_again(earlier, earlier.ended, quiet=quiet, as_json=as_json)
        module, raw, words = earlier.words
        kept = {name: value for name, value in earlier.settings.items() if name not in NOT_KEPT}
        given = kept | {name: value for name, value in given.items() if value is not None}
    done = _triaged(words or [], module, raw, given, earlier, quiet=quiet)
    show_result(done, quiet=quiet, as_json=as_json)
    if done.bug is not None:
        raise done.bug
    raise typer.Exit(done.exit_code)


def _triaged(
    words: list[str], module: str | None, raw: bool, given: dict[str, Any], earlier: EarlierRun | None, *, quiet: bool
) -> RunResult:
    """The story of a run, with a view that listens. Raises UsageError where there is nothing to run, or nothing to write with."""
    from triage.cli.view import listener_for
    from triage.probe.target import command_of, find_python, make_target
    from triage.session.events import Emitter
    from triage.session.settings import load_settings
    from triage.stories.run import run as triaged

    check_given(words, module, "run")
    settings = load_settings(given)
    warn_unredacted(settings.redact)
    if settings.template is not None:
        from triage.report.templates import user_template  # jinja2 costs a start that few need

        user_template(settings.template)  # it is looked at before minutes are spent
    interpreter, cwd = (earlier.python, earlier.cwd) if earlier else (find_python(settings.python), Path.cwd())
    target = make_target(words, module=module, raw=raw, python=interpreter, cwd=cwd)
    with listener_for(quiet=quiet) as listener:
        return triaged(target, command_of(words, module, raw), settings, Emitter(listener), earlier)


def _tell_again(earlier: EarlierRun, ended: int, *, quiet: bool, as_json: bool) -> NoReturn:
    """Of a run that has come to its end: what it showed then, and its exit status."""
    from triage.cli.result import show_result, tell_finished
    from triage.report.store import load_report
    from triage.stories.run import RunResult

    tell_finished(earlier.directory)
    show_result(RunResult(load_report(earlier.directory), earlier.directory, ended), quiet=quiet, as_json=as_json)
    raise typer.Exit(ended)


def _earlier(directory: Path, anything_else: bool) -> EarlierRun:
    """The run to go on with. Raises UsageError where it is none, or where `anything_else` says what is to be run."""
    from triage.cli.latest import named
    from triage.errors import UsageError
    from triage.stories.resume import earlier_run

    if anything_else:
        raise UsageError(
            what="A resumed run keeps its script, its interpreter and its directory.",
            why="--resume was given together with one of them.",
            next=f"triage run --resume {directory}   (--budget, --timeout, --jobs and --format may be given anew)",
        )
    return earlier_run(named(directory))
