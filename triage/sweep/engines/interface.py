"""What an engine is asked to do: run processes somewhere, tell as each ends, leave none behind."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from triage.errors import UsageError


@dataclass(frozen=True)
class Work:
    """One process. `timeout` is in seconds; it is asked to end (SIGTERM) then, and killed after `grace` seconds more.

    `env` is added to the environment there is; output and errors go to `log`. `cores` is what it is expected to take.
    """

    name: str
    argv: tuple[str, ...]
    cwd: Path
    log: Path
    timeout: float
    env: Mapping[str, str] = field(default_factory=dict)
    grace: float = 8.0
    cores: int = 1


@dataclass(frozen=True)
class Done:
    """How a process ended. `code` is None where it could not be run, `lost` where the machine went away: run it again."""

    name: str
    code: int | None
    seconds: float
    timed_out: bool = False
    lost: bool = False
    error: str | None = None


class Engine(Protocol):
    """Runs what it is given, as much side by side as there is room for. Used from one thread."""

    name: str
    slots: int  # how many run side by side

    def submit(self, work: Work) -> None:
        """Take it; it runs as soon as there is room."""

    def wait(self, seconds: float | None = None) -> Done | None:
        """The next that ends; None where none did in that time. An interrupt arrives here."""

    def close(self) -> None:
        """End what runs, take nothing more; no process is left, here or elsewhere, when it returns."""


def imported(engine: str, package: str, module: str) -> Any:
    """The module of a package. Raises UsageError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            what=f"The engine {engine} needs {package}.",
            why=f"It cannot be imported: {error}.",
            next=f"pip install 'torch-triage[{engine}]'",
        ) from error
