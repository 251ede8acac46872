"""From a question to an axis and a bench: asks the package index, chooses the interpreter, opens the environment cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from packaging.version import Version

from triage.bisect.axis import release_axis
from triage.bisect.benches import MakeTarget, NightlyFinder, VersionBench
from triage.bisect.nightly import nightly_axis
from triage.bisect.points import Axis, Bench
from triage.bisect.state import Ask
from triage.environments.cache import DEFAULT_LIMIT, EnvironmentCache, default_root
from triage.environments.index import IndexUnreachableError as Unreachable
from triage.environments.index import Wheel, all_wheels, project_wheels
from triage.environments.index_settings import IndexSettings, find_settings, public
from triage.environments.installer import find_installer
from triage.environments.interpreters import choose_interpreter, examine
from triage.environments.recipes import FALLBACK_PYTHON
from triage.environments.releases import ANY, Release, flavour_indexes, releases
from triage.environments.requirements import gather
from triage.environments.venvs import Recipe, Workshop
from triage.errors import TargetError
from triage.session.session import Session

QUICK_SECONDS = 8.0  # for an index that can be done without

AskIndex = Callable[[str, str, str | None, float], list[Wheel]]  # project, index, certificates, seconds


@dataclass(frozen=True)
class Setup:
    """All that a hunt needs, and what is worth telling about it. `bench` is opened once there is a session."""

    axis: Axis
    bench: Callable[[Session], Bench]
    python: str = ""
    notes: tuple[str, ...] = ()
    sizes: tuple[int | None, ...] = ()  # bytes of each point's torch wheel, oldest first
    builds: str = ""  # which builds of torch


@dataclass(frozen=True)
class Found:
    """What the indexes have. `indexes` are those beyond the configured ones that answered."""

    wheels: tuple[Wheel, ...]
    nightlies: tuple[Wheel, ...] = ()
    indexes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def set_up(ask: Ask, target_python: str, target: MakeTarget, cache_limit: int = DEFAULT_LIMIT) -> Setup:
    """Axis and bench for versions of torch. Raises UsageError and TargetError, each with what to do."""
    installer = find_installer(ask.installer)
    settings = find_settings(python=target_python, installer=installer.name)
    found = look(ask, settings)
    own = examine(target_python)
    python = own.python if own is not None else FALLBACK_PYTHON
    axis = axis_of(ask, releases(found.wheels, python, ask.flavour), releases(found.nightlies, python, ask.flavour))
    versions = [point.release.version for point in axis.points if point.release is not None]
    interpreter = choose_interpreter(target_python, ask.python, versions, installer)
    if interpreter.python != python:
        python = interpreter.python
        axis = axis_of(ask, releases(found.wheels, python, ask.flavour), releases(found.nightlies, python, ask.flavour))
    gathered = gather(map(Path, ask.requirements), Path(ask.cwd))
    recipe = Recipe(interpreter, installer, settings, found.indexes, ask.packages, gathered)
    finder = NightlyFinder(releases(found.wheels, python, ask.flavour), ask.flavour, python, settings.cert)

    def bench(session: Session) -> Bench:
        cache = EnvironmentCache(default_root(), cache_limit)
        return VersionBench(Workshop(cache, recipe, session.directory / "logs", session.emit), target, finder)

    dropped = f"Left out of the requirements, as only torch may vary: {', '.join(gathered.dropped)}."
    notes = [*found.notes, interpreter.note, dropped if gathered.dropped else None]
    sizes = tuple(point.release.size if point.release else None for point in axis.points)
    builds = builds_of([point.release for point in axis.points if point.release is not None], ask.flavour)
    return Setup(axis, bench, interpreter.full, tuple(note for note in notes if note), sizes, builds)


def builds_of(found: Sequence[Release], flavour: str) -> str:
    """Which builds are taken: a version for the CPU alone may only exist in the build that the index has for everybody."""
    plain = sum(release.label is None for release in found if release.requirement)
    if flavour == "cpu" and plain:
        return "default" if plain == len(found) else "cpu and default"
    return "default" if flavour == ANY else flavour


def axis_of(ask: Ask, stable: list[Release], nightlies: list[Release]) -> Axis:
    """The axis that was asked for."""
    if ask.nightly:
        return nightly_axis(nightlies, stable, ask.wish, date.today())
    return release_axis([*stable, *nightlies], ask.wish)


def look(ask: Ask, settings: IndexSettings, ask_index: AskIndex = project_wheels) -> Found:
    """Ask PyTorch's index of the flavour, and the configured ones. Raises TargetError where none can be reached.

    Without PyTorch's own index the configured one serves, with bigger wheels.
    """
    missing = (
        f"PyTorch's index of {ask.flavour} builds could not be reached ({{}}); "
        "the builds of the configured index are taken, which are bigger."
    )
    first = _of_flavour(ask, settings, ask_index, missing, nightly=False)
    wheels, problems = all_wheels("torch", settings)
    wheels = [*first.wheels, *wheels]
    if not wheels and not ask.wish.versions:
        raise TargetError(
            what="The package index cannot be reached, so it is not known which versions of torch there are.",
            why="; ".join(problems) or f"{', '.join(map(public, settings.indexes))} has no torch.",
            next="Check the network and the index that pip or uv is set up with; or name versions: --versions 2.8.0,2.9.0",
        )
    later = Found(())
    if ask.nightly or any(Version(name).is_devrelease for name in ask.wish.versions if _is_version(name)):
        later = _of_flavour(ask, settings, ask_index, "The index of nightlies could not be reached ({}).", nightly=True)
    return Found(tuple(wheels), later.wheels, first.indexes + later.indexes, first.notes + later.notes)


def _of_flavour(ask: Ask, settings: IndexSettings, ask_index: AskIndex, missing: str, *, nightly: bool) -> Found:
    """What PyTorch's own indexes of the flavour have; of each that cannot be reached a note, `missing` with the error."""
    wheels: list[Wheel] = []
    indexes, notes = list[str](), list[str]()
    for index in flavour_indexes(ask.flavour, nightly=nightly):
        try:
            wheels += ask_index("torch", index, settings.cert, QUICK_SECONDS)
            indexes.append(index)
        except Unreachable as error:
            notes.append(missing.format(error))
    return Found(tuple(wheels), (), tuple(indexes), tuple(notes))


def _is_version(name: str) -> bool:
    try:
        Version(name)
    except ValueError:
        return False
    return True
