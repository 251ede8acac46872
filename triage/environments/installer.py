"""The two ways to make an environment, uv and venv + pip, as command lines.

uv is taken from PATH or as a module of the Python that runs triage. Its project files are not read (it runs in a directory
of ours): a project's own torch pin would defeat the purpose. Its user settings and variables are.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from triage.environments.index_settings import IndexSettings
from triage.probe.target import python_of

# Variables that belong to the person's own environment or project. Constraints are among them: containers pin torch that way.
_POISONOUS = {
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "UV_PROJECT", "UV_PYTHON", "UV_SYSTEM_PYTHON",
    "UV_CONSTRAINT", "UV_OVERRIDE", "UV_TORCH_BACKEND", "PIP_REQUIRE_VIRTUALENV", "PIP_USER", "PIP_TARGET",
    "PIP_PREFIX", "PIP_CONSTRAINT",
}  # fmt: skip


@dataclass(frozen=True)
class Installer:
    """`uv` is the command that starts uv; empty where there is none and pip does the work."""

    uv: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "uv" if self.uv else "pip"

    def make_venv(self, python: str, directory: Path) -> tuple[str, ...]:
        """An empty environment with this interpreter below it. It will be renamed, so its scripts are relocatable."""
        if self.uv:
            return (*self.uv, "venv", "--quiet", "--relocatable", "--no-project", "--python", python, str(directory))
        return (python, "-I", "-m", "venv", str(directory))

    def install(
        self,
        venv: Path,
        requirements: Sequence[str],
        files: Sequence[Path],
        extra: Sequence[str],
        settings: IndexSettings,
    ) -> tuple[str, ...]:
        """Install into the environment, from the configured indexes and from the indexes `extra`."""
        python = str(python_of(venv))
        wanted = [*requirements, *(word for file in files for word in ("-r", str(file)))]
        if self.uv:
            # As pip does it: the best version over all indexes, whichever comes first.
            more = [word for url in extra for word in ("--index", url)]
            told = ("--index-strategy", "unsafe-best-match")
            return (*self.uv, "pip", "install", "--python", python, *told, *more, *settings.uv_arguments(), *wanted)
        more = [word for url in extra for word in ("--extra-index-url", url)]
        quiet = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--no-compile")
        return (python, "-I", "-m", "pip", "install", *quiet, *settings.pip_arguments(), *more, *wanted)


def find_installer(wanted: str = "auto") -> Installer:
    """The installer asked for: uv, pip, or auto (uv where it is found)."""
    return Installer(() if wanted == "pip" else find_uv())


def find_uv() -> tuple[str, ...]:
    """How to start uv: beside our own interpreter, on PATH, or as a module; empty where it is not installed."""
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found:
        return (found,)
    return (sys.executable, "-m", "uv") if importlib.util.find_spec("uv") is not None else ()


def installer_environment(base: Mapping[str, str], downloads: Path, settings: IndexSettings) -> dict[str, str]:
    """The variables of an installation. Downloads are kept in a cache of ours unless the person has chosen a place."""
    env = {name: value for name, value in base.items() if name not in _POISONOUS and not name.startswith("TRIAGE_")}
    env.setdefault("UV_CACHE_DIR", str(downloads))
    env["UV_NO_PROGRESS"] = env["NO_COLOR"] = "1"
    env.setdefault("UV_HTTP_TIMEOUT", "120")
    env["PYTHONNOUSERSITE"] = "1"
    if settings.cert and Path(settings.cert).is_file():
        env.setdefault("SSL_CERT_FILE", settings.cert)
    return env
