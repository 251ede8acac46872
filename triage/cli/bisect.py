"""`triage bisect`: since which PyTorch?"""

from __future__ import annotations

from pathlib import Path

import typer

from triage.cli.options import MODULE, NO_REDACT, QUIET, warn_unredacted


def bisect(
    words: list[str] = typer.Argument(
        None,
        metavar="SCRIPT_OR_RUN [-- ARGS]...",
        help="A script, a repro.py or a run directory; its arguments after --.",
        show_default=False,
    ),
    module: str = MODULE,
    good: str = typer.Option(
        None, metavar="VERSION|DATE", help="Where it passes: a version, a date, `oldest` (default: oldest)."
    ),
    bad: str = typer.Option(
        None, metavar="VERSION|DATE", help="Where it fails (default: the torch of the run, else newest)."
    ),
    versions: str = typer.Option(None, metavar="A,B,C", help="Exactly these versions."),
    find_fix: bool = typer.Option(False, "--find-fix", help="Look for the version that fixed it."),
    nightly: bool = typer.Option(False, "--nightly", help="Nightly builds; the ends are dates or nightlies."),
    linear: bool = typer.Option(False, "--linear", help="Test every version and show the whole history."),
    flavour: str = typer.Option("cpu", metavar="cpu|cu128|...|any", help="Which builds of torch."),
    packages: list[str] = typer.Option(None, "--with", metavar="PACKAGE", help="A package that the script needs."),
    requirements: list[str] = typer.Option(
        None, "-r", "--requirements", metavar="FILE", help="Requirements of the script; pins of torch are left out."
    ),
    python: str = typer.Option(
        None, metavar="PATH|3.X", help="Interpreter of the environments (default: the target's, where it suits)."
    ),
    pytorch_repo: str = typer.Option(None, metavar="DIR", help="A clone of PyTorch: rank the commits of the window."),
    target_repo: str = typer.Option(None, metavar="DIR", help="Bisect this repository of yours, not torch."),
    repeats: int = typer.Option(3, metavar="N", min=1, help="Runs of each side of the boundary."),
    caches: str = typer.Option("on", metavar="on|off", help="Compile caches; empty for every run either way."),
    installer: str = typer.Option("auto", metavar="auto|uv|pip", help="What makes the environments."),
    jobs: int = typer.Option(None, metavar="N", help="Environments made ahead; with --linear, versions side by side."),
    timeout: float = typer.Option(None, metavar="SECONDS", help="Limit of one run of the script (default: 300)."),
    budget: float = typer.Option(None, metavar="SECONDS", help="Limit of the whole bisection (default: none)."),
    cache_limit: float = typer.Option(30.0, metavar="GIB", min=1.0, help="Bound of the environment cache."),
    out: Path = typer.Option(
        None, metavar="DIR", help="Directory of the result (default: in triage-out, or in the run)."
    ),
    resume: Path = typer.Option(
        None, metavar="[DIR]", help="Go on with a bisection that was interrupted (without DIR: the latest)."
    ),
    no_redact: bool = NO_REDACT,
    as_json: bool = typer.Option(False, "--json", help="Print bisect.json on standard output, and nothing else there."),
    quiet: bool = QUIET,
) -> None:
    """Find the release (or nightly, or commit of yours) at which the outcome of a script changes.

    Exit status: 0 found, 1 the outcome does not change between the ends, 2 wrong usage, 4 an environment cannot be made,
    5 the budget ended, 70 a bug of triage, 130 interrupted (go on with --resume).
    """
    from triage.bisect.axis import Wish
    from triage.bisect.state import Ask
    from triage.cli.bisect_view import listener_for, show_result
    from triage.cli.latest import named
    from triage.environments.releases import check_words
    from triage.session.events import Emitter
    from triage.session.settings import load_settings
    from triage.stories.bisect import bisect as run_bisection

    given = {"out": out, "timeout": timeout, "budget": budget, "jobs": jobs, "redact": False if no_redact else None}
    settings = load_settings(given)
    check_words(flavour=flavour, caches=caches, installer=installer)
    cwd = Path.cwd()
    said = tuple(words or ())
    said = (str(named(Path(said[0]))), *said[1:]) if said and not module else said
    listed = tuple(name.strip() for name in (versions or "").split(",") if name.strip())
    ask = Ask(
        words=said,
        cwd=str(cwd),
        module=module,
        raw=not module and len(said) > 1 and not (cwd / said[0]).exists() and not said[0].endswith(".py"),
        wish=Wish(good, bad, listed, find_fix),
        nightly=nightly,
        flavour=flavour,
        packages=tuple(packages or ()),
        requirements=tuple(requirements or ()),
        python=python or settings.python,
        installer=installer,
        linear=linear,
        repeats=repeats,
        caches=caches == "on",
        pytorch_repo=pytorch_repo,
        target_repo=target_repo,
    )
    warn_unredacted(settings.redact)
    with listener_for(quiet=quiet) as listener:
        done = run_bisection(
            ask, settings, Emitter(listener), named(resume) if resume else None, int(cache_limit * 1024**3)
        )
    show_result(done, quiet=quiet, as_json=as_json)
    raise typer.Exit(done.exit_code)
