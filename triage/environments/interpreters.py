"""Which Python the environments of a bisection are made with.

One interpreter serves the whole range, because only torch may differ: the target's own where every version in question works
with it, else the newest older one that does and can be found. A substitution is said, never silent.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from triage.environments.installer import Installer
from triage.environments.machine import output_of
from triage.environments.recipes import FALLBACK_PYTHON, Python, python_range, text
from triage.errors import TargetError

_ASK = (
    "import json, sys, platform; print(json.dumps([list(sys.version_info[:2]), platform.python_version(), "
    "getattr(sys, '_base_executable', None) or sys.executable, sys.implementation.name, bool(sys.flags.no_site)]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python to make environments with. `path` is not inside an environment; `note` says why it is not the target's."""

    path: str
    python: Python
    full: str  # 3.11.7
    note: str | None = None


def choose_interpreter(
    target: str, wanted: str | None, versions: Sequence[Version], installer: Installer
) -> Interpreter:
    """The interpreter for these versions of torch. `wanted` is a path or a version such as 3.11 that the person chose.

    Raises TargetError where there is none, with what to install.
    """
    if wanted is not None and not re.fullmatch(r"3\.\d+", wanted):
        return _examined(wanted)
    own = examine(target)
    if wanted is not None:
        python = (3, int(wanted.split(".")[1]))
        found = find_version(python, target, installer)
        if found is None:
            raise _not_found(python, versions, f"--python {wanted} was asked for.")
        return found
    if own is None:
        raise TargetError(
            what=f"{target} is not a Python that environments can be made with.",
            why="It could not be asked for its version, or is no CPython.",
            next="Name one: triage bisect --python 3.11 ...",
        )
    for python in candidates(own.python, versions):
        found = own if python == own.python else find_version(python, target, installer)
        if found is not None:
            note = None
            if python != own.python:
                note = f"Tested with Python {text(python)}: not every version in question works with Python {text(own.python)}."
            return Interpreter(found.path, found.python, found.full, note)
    raise _not_found(candidates(own.python, versions)[0], versions, f"The target runs Python {text(own.python)}.")


def candidates(own: Python, versions: Sequence[Version]) -> list[Python]:
    """Pythons to look for, best first: the newest up to `own` that suits the most of `versions`.

    Where no Python suits all of them, the ends of the range decide; 3.11 suits every torch from 2.1 to 2.15.
    """

    def suits(python: Python) -> int:
        rows = [python_range(version) for version in versions]
        return sum(row.oldest <= python < row.refused for row in rows)

    known = [(3, minor) for minor in range(own[1], 8, -1)]
    best = max((suits(python) for python in [*known, FALLBACK_PYTHON]), default=0)
    fitting = [python for python in known if suits(python) == best]
    if not fitting:  # an own Python older than every wheel
        fitting = [python for python in [FALLBACK_PYTHON] if suits(python) == best]
    return fitting or [FALLBACK_PYTHON]


def find_version(python: Python, target: str, installer: Installer) -> Interpreter | None:
    """An interpreter of this version: on this machine, or fetched by uv where the person lets it do that."""
    for path in _places(python, target, installer):
        found = examine(path)
        if found is not None and found.python == python:
            return found
    return None


def examine(path: str) -> Interpreter | None:
    """What an interpreter says of itself; None where it cannot be asked, or is no CPython."""
    import json

    try:
        python, full, base, implementation, _ = json.loads(output_of((path, "-I", "-c", _ASK)) or "")
    except ValueError:
        return None
    if implementation != "cpython":
        return None
    return Interpreter(base if Path(base).exists() else path, (python[0], python[1]), full)


def torch_of(python: str) -> str:
    """The version of torch that this interpreter would import, by what was installed; empty where it does not say."""
    words = (python, "-c", "import importlib.metadata as found; print(found.version('torch'))")
    return next(iter(_said(words, 30)), "")


def _examined(wanted: str) -> Interpreter:
    found = shutil.which(str(Path(wanted).expanduser()))
    known = examine(found) if found else None
    if known is None:
        raise TargetError(
            what=f"{wanted} is not a CPython that environments can be made with.",
            why="It could not be started, or did not say its version.",
            next="Give a path such as /usr/bin/python3.11, or a version: --python 3.11",
        )
    return known


def _places(python: Python, target: str, installer: Installer) -> Iterable[str]:
    """Where an interpreter of this version may be, cheapest first."""
    name = f"python{text(python)}"
    yield target
    yield sys.executable
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        if directory and (Path(directory) / name).exists():
            yield str(Path(directory) / name)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from map(str, sorted(pyenv.glob(f"{text(python)}.*/bin/python"), reverse=True))
    if os.name == "nt":
        yield from _said(("py", f"-{text(python)}", "-c", "import sys; print(sys.executable)"), 30)
    if installer.uv:
        known = _said((*installer.uv, "python", "find", "--no-project", "--no-python-downloads", text(python)), 60)
        yield from known
        if not known and not _said((*installer.uv, "python", "install", "--quiet", text(python)), 600):
            yield from _said((*installer.uv, "python", "find", "--no-project", "--managed-python", text(python)), 60)


def _said(command: Sequence[str], seconds: float) -> list[str]:
    """The last line that the program prints, if it prints any."""
    return (output_of(command, seconds) or "").strip().splitlines()[-1:]


def _not_found(python: Python, versions: Sequence[Version], why: str) -> TargetError:
    ends = f"torch {min(versions)} to {max(versions)}" if versions else "the versions in question"
    return TargetError(
        what=f"No Python {text(python)} was found, which {ends} need.",
        why=f"{why} It is too new (or too old) for some of them: torch.compile of a release refuses a newer Python.",
        next=f"Install one (for example: uv python install {text(python)}), name one with --python, or ask about fewer versions.",
    )
