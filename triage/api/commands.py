"""The functions. Each is its command of the command line: the same words, the same settings, the same files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triage.api.answers import BisectReport, TriageReport, bisection_of, report_of, with_directory
from triage.model.places import LATEST, RUNS

if TYPE_CHECKING:
    from triage.session.events import Event

StrPath = str | os.PathLike[str]
OnEvent = Callable[["Event"], None]


def run(
    script: StrPath | None = None,
    *arguments: str,
    module: str | None = None,
    command: Sequence[str] | None = None,
    python: str | None = None,
    out: StrPath | None = None,
    timeout: float | None = None,
    budget: float | None = None,
    jobs: int | None = None,
    reduce: bool | None = None,
    reproducer_only: bool | None = None,
    engine: str | None = None,
    accuracy: str | None = None,
    formats: Sequence[str] | None = None,
    include_data: bool | None = None,
    on_event: OnEvent | None = None,
) -> TriageReport:
    """`triage run`: a script with its arguments, a `module`, or a whole `command`; exactly one of the three.

    What is None is a setting as the command line has it: TRIAGE_NAME, [tool.triage], the default. `timeout` (of one probe) and
    `budget` (of the whole run) are in seconds. `on_event` is told what happens, from any thread. An interrupt ends in a smaller
    report with exit code 130. Raises TriageError where there is nothing to triage, or the target cannot be used.
    """
    from triage.probe.target import command_of, find_python, make_target
    from triage.session.events import Emitter
    from triage.session.settings import load_settings
    from triage.stories.run import run as triaged

    words, raw = _words(script, arguments, module, command)
    given: dict[str, Any] = {"python": python, "out": out, "timeout": timeout, "budget": budget, "jobs": jobs}
    given |= {"reduce": reduce, "reproducer_only": reproducer_only, "engine": engine, "accuracy": accuracy}
    given |= {"format": tuple(formats) if formats is not None else None, "include_data": include_data}
    settings = load_settings(given)
    target = make_target(words, module=module, raw=raw, python=find_python(settings.python), cwd=Path.cwd())
    emit = Emitter(*([on_event] if on_event is not None else []))
    return report_of(triaged(target, command_of(words, module, raw), settings, emit, own_stdin=False))


def load(run: StrPath = "latest") -> TriageReport:
    """The report of an earlier run: its directory, its `report.json`, or `latest`. Raises UsageError where there is none."""
    from triage.report.store import load_report

    place = Path(run)
    newest = Path(RUNS) / LATEST
    place = newest if str(run) == LATEST and not place.exists() else place
    return with_directory(load_report(place), place.resolve() if place.is_dir() else place.resolve().parent)


def bisect(
    subject: StrPath | TriageReport,
    *arguments: str,
    good: str | None = None,
    bad: str | None = None,
    versions: Sequence[str] = (),
    find_fix: bool = False,
    nightly: bool = False,
    linear: bool = False,
    flavour: str = "cpu",
    packages: Sequence[str] = (),
    requirements: Sequence[str] = (),
    python: str | None = None,
    repeats: int = 3,
    out: StrPath | None = None,
    timeout: float | None = None,
    budget: float | None = None,
    jobs: int | None = None,
    on_event: OnEvent | None = None,
) -> BisectReport:
    """`triage bisect`: a script with its arguments, a run directory, or the report that `run` returned.

    `good` and `bad` are versions, or dates with `nightly`. Raises TriageError where the question cannot be answered.
    """
    from triage.bisect.axis import Wish
    from triage.bisect.state import Ask
    from triage.environments.releases import check_words
    from triage.session.events import Emitter
    from triage.session.settings import load_settings
    from triage.stories.bisect import bisect as bisected

    settings = load_settings({"out": out, "timeout": timeout, "budget": budget, "jobs": jobs})
    check_words(flavour=flavour, caches="on", installer="auto")
    place = subject.directory if isinstance(subject, TriageReport) else subject
    ask = Ask(
        words=(os.fspath(place), *arguments),
        cwd=str(Path.cwd()),
        wish=Wish(good, bad, tuple(versions), find_fix),
        nightly=nightly,
        flavour=flavour,
        packages=tuple(packages),
        requirements=tuple(requirements),
        python=python or settings.python,
        linear=linear,
        repeats=repeats,
    )
    emit = Emitter(*([on_event] if on_event is not None else []))
    return bisection_of(bisected(ask, settings, emit, own_stdin=False))


def _words(
    script: StrPath | None, arguments: Sequence[str], module: str | None, command: Sequence[str] | None
) -> tuple[tuple[str, ...], bool]:
    """(words after the interpreter, whether they are a whole command). Raises UsageError unless one thing is to be run."""
    from triage.errors import UsageError

    if [script is not None and module is None, module is not None, command is not None].count(True) != 1:
        raise UsageError(
            what="It is not clear what is to be run.",
            why="triage.run needs a script, module=, or command=, and one of them only.",
            next='For example: triage.run("train.py", "--steps", "2")',
        )
    if command is not None:
        return tuple(command), True
    first = (os.fspath(script),) if script is not None else ()
    return (*first, *arguments), False
