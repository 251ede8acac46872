"""`triage sweep`: many scripts, how many different bugs?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from triage.cli.options import NO_REDACT, PYTHON, QUIET, warn_unredacted

if TYPE_CHECKING:
    from triage.sweep.engines.interface import Engine

ENGINES = ("local", "ray", "slurm")


def sweep(
    paths: list[str] | None = typer.Argument(
        None,
        metavar="PATH...",
        help="Scripts, folders, patterns, tests (FILE::TEST), a list (.txt) or a sweep.toml.",
        show_default=False,
    ),
    python: str = PYTHON,
    out: Path = typer.Option(
        None, metavar="DIR", help="Where the sweep lies, or goes on (default: triage-out/sweep-TIME)."
    ),
    timeout: float = typer.Option(None, metavar="SECONDS", help="Limit of one run of a script (default: 300)."),
    budget: float = typer.Option(
        None, metavar="SECONDS", help="Limit of all that is asked about one script that fails (default: 900)."
    ),
    jobs: int = typer.Option(None, metavar="N", help="Scripts side by side (default: by cores and memory)."),
    accuracy: str = typer.Option(
        None, metavar="auto|always|never", help="When to compare compiled graphs with eager, as for `triage run`."
    ),
    against: Path = typer.Option(
        None, metavar="SWEEP", help="An earlier sweep: what is new, fixed, changed? Then only that counts as failing."
    ),
    engine: str = typer.Option("local", metavar="|".join(ENGINES), help="What runs the scripts."),
    address: str = typer.Option(None, metavar="ADDRESS", help="With --engine ray: the cluster (default: a local one)."),
    resume: Path = typer.Option(
        None, metavar="[SWEEP]", help="Go on with an earlier sweep (without SWEEP: the latest)."
    ),
    again: bool = typer.Option(False, "--again", help="Ask everything anew, also what is known."),
    serve: bool = typer.Option(False, "--serve", help="Show the page while it fills, on this machine alone."),
    no_redact: bool = NO_REDACT,
    as_json: bool = typer.Option(False, "--json", help="Print sweep.json on standard output, and nothing else there."),
    quiet: bool = QUIET,
) -> None:
    """Run many scripts and say how many different bugs there are, each with one reproducer.

    Exit status: 0 nothing fails (with --against: nothing new), 1 something does, 2 wrong usage, 4 the target cannot be used,
    70 a bug of triage, 130 interrupted: `--resume` goes on.
    """
    from triage.cli.sweep_view import listener_for, show_sweep
    from triage.report.writing import load_sweep
    from triage.session.events import Emitter
    from triage.session.settings import load_settings
    from triage.stories.sweep import slots_here
    from triage.stories.sweep import sweep as swept
    from triage.stories.sweep_setup import set_up_sweep

    given = {"python": python, "out": out, "timeout": timeout, "budget": budget, "jobs": jobs, "accuracy": accuracy}
    settings = load_settings({**given, "redact": False if no_redact else None})
    _check_engine(engine)
    if against is not None:
        load_sweep(against)  # before hours are spent
    ready = set_up_sweep(paths or [], settings.out, resume, settings.python, again=again)
    folder = ready.store.folder
    warn_unredacted(settings.redact)
    runs_on = _engine(engine, address, slots_here(settings.jobs), settings.jobs, folder)
    with _served(folder, wanted=serve), listener_for(quiet=quiet) as listener:
        done = swept(ready, settings, runs_on, Emitter(listener), base=against)
    show_sweep(done, quiet=quiet, as_json=as_json)
    raise typer.Exit(done.exit_code)


def _check_engine(name: str) -> None:
    from triage.errors import UsageError

    if name not in ENGINES:
        raise UsageError(
            what=f"There is no engine {name}.",
            why=f"Known are {', '.join(ENGINES)}.",
            next="Leave --engine out to use this machine.",
        )


def _engine(name: str, address: str | None, slots: int, wanted: int, folder: Path) -> Engine:
    if name == "local":
        from triage.sweep.engines.local import LocalEngine

        return LocalEngine(slots)
    if name == "ray":
        from triage.sweep.engines.ray_engine import RayEngine

        return RayEngine(address, wanted or None)
    from triage.sweep.engines.slurm import SlurmEngine

    return SlurmEngine(folder / "slurm", wanted or 32)


@contextmanager
def _served(folder: Path, *, wanted: bool) -> Iterator[None]:
    """The folder of the sweep, to be read in a browser on this machine while it goes on."""
    if not wanted:
        yield
        return
    from triage.cli.sweep_serve import serving

    with serving(folder) as url:
        typer.echo(f"the page: {url}", err=True)
        yield
