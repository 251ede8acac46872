"""One environment per torch version: found in the cache, or made, and smoke-tested before anybody may use it.

What goes wrong with one version is an `UntestableError` with its reason; what would go wrong with every version (a full disk,
an index that cannot be reached) ends the whole undertaking with a `TargetError`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.environments.cache import EnvironmentCache, Stored, key_of, no_room
from triage.environments.files import tree_bytes
from triage.environments.index_settings import IndexSettings
from triage.environments.installer import Installer, installer_environment
from triage.environments.interpreters import Interpreter
from triage.environments.recipes import refusal, requirements_for, room_needed
from triage.environments.releases import Release
from triage.environments.requirements import Gathered
from triage.environments.smoke import Smoke, smoke_test
from triage.environments.trouble import Trouble, read_trouble
from triage.errors import TargetError
from triage.probe.launch import Cancel, Launch, launch, text_of
from triage.probe.target import python_of

RECIPE_VERSION = "1"  # part of every key: environments made by another recipe are not taken
INSTALL_SECONDS = 3600.0
VENV_SECONDS = 300.0

Tell = Callable[..., None]


class UntestableError(Exception):
    """The version cannot be tested, for the reason that the text gives."""


class StoppedError(Exception):
    """The workshop was stopped from another thread."""


@dataclass(frozen=True)
class Recipe:
    """Everything about an environment but its torch. `indexes` come before the configured ones."""

    interpreter: Interpreter
    installer: Installer
    settings: IndexSettings
    indexes: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    gathered: Gathered = field(default_factory=Gathered)

    def requirements(self) -> tuple[str, ...]:
        return (*requirements_for(self.interpreter.python, self.wanted), *self.gathered.lines)


@dataclass(frozen=True)
class Environment:
    """An environment that may judge. `made` is False where it was in the cache; `seconds` is what it took to get it."""

    stored: Stored
    python: str
    made: bool
    seconds: float

    @property
    def git_version(self) -> str | None:
        return self.stored.facts.get("git_version")

    @property
    def packages(self) -> dict[str, str]:
        return dict(self.stored.facts.get("packages") or {})


class Workshop:
    """Makes environments by one recipe. One at a time: a torch wheel takes all the disk and network there is."""

    def __init__(self, cache: EnvironmentCache, recipe: Recipe, logs: Path, tell: Tell) -> None:
        self._cache = cache
        self._recipe = recipe
        self._logs = logs
        self._cancel = Cancel()
        self._tell = tell
        self._one_at_a_time = threading.Lock()
        self.made = 0  # environments, also those that then failed their smoke test or were interrupted in it

    def ready(self, release: Release) -> Environment:
        """The environment of this version. Raises UntestableError, TargetError, StoppedError."""
        began = time.monotonic()
        problem = refusal(release.version, self._recipe.interpreter.python) or release.problem
        if problem is not None or release.requirement is None:
            raise UntestableError(problem or "no wheel")
        with self._one_at_a_time:
            self._check_stopped()
            stored = self._cache.find(self.key(release))
            made = stored is None
            if stored is None:
                stored = self._make(release)
            stored = self._tested(release, stored)
        python = str(python_of(stored.venv))
        return Environment(stored, python, made, time.monotonic() - began)

    def has(self, release: Release) -> bool:
        """Whether the environment is in the cache."""
        return release.requirement is not None and self._cache.holds(self.key(release))

    def stop(self) -> None:
        """End an installation that is going on, and begin no other."""
        self._cancel.set()

    def done(self, environment: Environment) -> None:
        """The environment may be removed again when room is needed."""
        self._cache.release(environment.stored.directory)

    def key(self, release: Release) -> str:
        recipe = self._recipe
        parts = [RECIPE_VERSION, str(release.requirement), recipe.interpreter.path, recipe.interpreter.full]
        parts += [*recipe.requirements(), "constraints", *recipe.gathered.constraints]
        label = f"+{release.label}" if release.label else ""
        python = recipe.interpreter.python
        return key_of(f"torch-{release.version}{label}-cp{python[0]}{python[1]}", parts)

    # -- making -----------------------------------------------------------------------------------------------------

    def _make(self, release: Release) -> Stored:
        room = room_needed(release.size, bool(release.label and release.label.startswith("cpu")))
        making = self._cache.begin(self.key(release), room)
        began = time.monotonic()
        self._tell("install_started", version=release.name, bytes=release.size)
        try:
            with self._cache.installing():
                requirements = self._install(release, making)
            facts = {
                "torch": release.requirement,
                "python": self._recipe.interpreter.full,
                "requirements": list(requirements),
                "installer": self._recipe.installer.name,
            }
            _rename_inside(making / "venv", self._cache.root / self.key(release) / "venv")
            stored = self._cache.finish(making, self.key(release), facts)
        except BaseException:
            self._cache.abandon(making)
            raise
        self.made += 1
        seconds = round(time.monotonic() - began, 1)
        self._tell("install_ended", version=release.name, seconds=seconds, bytes=stored.facts.get("size"))
        return stored

    def _install(self, release: Release, making: Path) -> tuple[str, ...]:
        recipe = self._recipe
        venv = making / "venv"
        done, text = self._run(release, recipe.installer.make_venv(recipe.interpreter.path, venv), "venv", VENV_SECONDS)
        if not done:
            if read_trouble(text)[0] is Trouble.DISK:
                raise self._out_of_room()
            raise TargetError(
                what=f"No environment can be made with {recipe.interpreter.path}.",
                why=read_trouble(text)[1],
                next="Choose another interpreter: triage bisect --python 3.11 ... (on Debian, venv needs python3-venv).",
            )
        requirements = (str(release.requirement), *recipe.requirements())
        files = []
        if recipe.gathered.constraints:
            files = [making / "constraints.txt"]
            files[0].write_text("\n".join(recipe.gathered.constraints) + "\n", encoding="utf-8")
        wanted = making / "requirements.txt"  # a file: requirements may be options, and the list may be long
        wanted.write_text("\n".join([*requirements, *(f"-c {file}" for file in files)]) + "\n", encoding="utf-8")
        command = recipe.installer.install(venv, (), [wanted], recipe.indexes, recipe.settings)
        for attempt in (1, 2):
            done, text = self._run(release, command, "install", INSTALL_SECONDS)
            trouble, telling = read_trouble(text)
            if done:
                return requirements
            if trouble is not Trouble.NETWORK or attempt == 2:
                break
        raise self._explained(release, trouble, telling)

    def _explained(self, release: Release, trouble: Trouble, telling: str) -> Exception:
        if trouble is Trouble.DISK:
            return self._out_of_room()
        if trouble is Trouble.NETWORK:
            return TargetError(
                what=f"torch {release.version} could not be downloaded.",
                why=telling,
                next="Check the network and the package index.",
            )
        if trouble is Trouble.NO_WHEEL:
            return UntestableError(f"no wheel: {telling}")
        if trouble is Trouble.CONFLICT:
            return UntestableError(f"the packages asked for do not fit this torch: {telling}")
        return UntestableError(f"install failed: {telling}")

    def _out_of_room(self) -> TargetError:
        import shutil

        free = shutil.disk_usage(self._cache.root).free
        return no_room(self._cache.root, free + 1, free)

    def _run(self, release: Release, command: tuple[str, ...], step: str, seconds: float) -> tuple[bool, str]:
        """(whether it went well, what it said)."""
        self._logs.mkdir(parents=True, exist_ok=True)
        out, err = (self._logs / f"{step}-{release.name}.{name}.log" for name in ("out", "err"))
        env = installer_environment(os.environ, self._cache.downloads, self._recipe.settings)
        done = launch(Launch(command, self._cache.root, env, out, err, seconds), self._cancel)
        self._check_stopped()
        said = "\n".join(filter(None, map(text_of, (err, out))))
        if done.timed_out:
            said += f"\nerror: operation timed out after {seconds:.0f} s"
        return done.code == 0, said + (f"\nerror: {done.error}" if done.error else "")

    # -- smoke test -------------------------------------------------------------------------------------------------

    def _tested(self, release: Release, stored: Stored) -> Stored:
        """The environment once it has passed. One that failed earlier is tried again: a compiler may be there by now."""
        if stored.facts.get("smoke") == "passed":
            return stored
        self._tell("smoke_started", version=release.name)
        smoke = smoke_test(python_of(stored.venv), stored.toolchain, self._cancel)
        self._check_stopped()
        self._tell("smoke_ended", version=release.name, seconds=round(smoke.seconds, 1), problem=smoke.problem)
        stored = self._cache.update(stored, **_kept(smoke), size=tree_bytes(stored.directory))
        if smoke.problem is not None:
            self._cache.release(stored.directory)
            raise UntestableError(smoke.problem)
        return stored

    def _check_stopped(self) -> None:
        if self._cancel.is_set():
            raise StoppedError


def _kept(smoke: Smoke) -> dict[str, Any]:
    names = ("torch", "git_version", "packages", "cuda_built", "cuda_devices")
    facts = {name if name != "torch" else "torch_version": smoke.facts.get(name) for name in names}
    return {**facts, "smoke": smoke.problem or "passed"}


def _rename_inside(venv: Path, final: Path) -> None:
    """Scripts of an environment that pip made name the interpreter by its path: give them the one it will have."""
    for script in python_of(venv).parent.iterdir():
        if script.is_symlink() or not script.is_file() or script.stat().st_size > 64 * 1024:
            continue
        content = script.read_bytes()
        if str(venv).encode() in content and b"\0" not in content:
            script.write_bytes(content.replace(str(venv).encode(), str(final).encode()))
