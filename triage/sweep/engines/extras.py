"""Packages that an engine needs and that triage brings only where they are asked for."""

from __future__ import annotations

import importlib
from typing import Any

from triage.errors import UsageError


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
