"""`triage explain`: nothing failed, but why is it slow, broken up, recompiled?"""

from __future__ import annotations

from pathlib import Path

import typer

from triage.cli.options import MODULE, NO_REDACT, PYTHON, QUIET, RAW, WORDS, check_given, warn_unredacted


def explain(
    words: list[str] | None = WORDS,
    module: str | None = MODULE,
    python: str = PYTHON,
    out: Path = typer.Option(None, metavar="DIR", help="Where explain.md goes (default: triage-out/SCRIPT-TIME)."),
    timeout: float = typer.Option(None, metavar="SECONDS", help="Limit of one run of the script (default: 300)."),
    whole: bool = typer.Option(
        False, "--whole", help="Run the script to its end, also once nothing is compiled any more."
    ),
    fullgraph: bool = typer.Option(False, "--fullgraph", help="Say what fails first with fullgraph=True."),
    warm: bool = typer.Option(
        False, "--warm", help="One more run, with the caches of the first: what a restart costs."
    ),
    modes: bool = typer.Option(False, "--modes", help="Measure the program in every mode of torch.compile, in turns."),
    mode: list[str] = typer.Option(
        None, "--mode", metavar="NAME", help="With --modes: this row alone beside uncompiled. Repeat it for more."
    ),
    step: str = typer.Option(
        None,
        "--step",
        metavar="FUNCTION",
        help="With --modes or --profile: a call of this function of the program is the step.",
    ),
    profile: bool = typer.Option(
        False, "--profile", help="Profile a step, uncompiled and compiled: operations side by side, Chrome traces."
    ),
    budget: float = typer.Option(None, metavar="SECONDS", help="Limit of all runs together (default: none)."),
    no_redact: bool = NO_REDACT,
    as_json: bool = typer.Option(
        False, "--json", help="Print explain.json on standard output, and nothing else there."
    ),
    quiet: bool = QUIET,
    raw: bool = RAW,
) -> None:
    """Graph breaks, recompilations and compile time of a script that runs: where, why, how often, what to do.

    Exit status: 0 explained (also where there is nothing to mend), 2 wrong usage, 4 the target cannot be used, 5 the time
    ended first, 70 a bug of triage, 130 interrupted. A script that fails is triaged, with the exit status of `triage run`.
    """
    from triage.cli.explain_view import show_explanation
    from triage.cli.view import listener_for
    from triage.probe.target import command_of, find_python, make_target
    from triage.session.events import Emitter
    from triage.session.settings import load_settings
    from triage.stories.explain import Measuring
    from triage.stories.explain import explain as explained
    from triage.stories.explain_modes import ModesWanted

    check_given(words, module, "explain")
    given = {"python": python, "out": out, "timeout": timeout, "budget": budget or 0.0}
    settings = load_settings({**given, "redact": False if no_redact else None})
    measured = modes or mode or (step and not profile)
    wanted = Measuring(ModesWanted(tuple(mode or ())) if measured else None, step, profile)
    target = make_target(words or [], module=module, raw=raw, python=find_python(settings.python), cwd=Path.cwd())
    command = command_of(words or [], module, raw)
    warn_unredacted(settings.redact)
    with listener_for(quiet=quiet) as listener:
        done = explained(
            target, command, settings, Emitter(listener), fullgraph=fullgraph, whole=whole, warm=warm, measuring=wanted
        )
    show_explanation(done, quiet=quiet, as_json=as_json)
    raise typer.Exit(done.exit_code)
