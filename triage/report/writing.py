"""What a person is told where a result cannot be put on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from triage.errors import UsageError


@contextlib.contextmanager
def writing(what: str, directory: Path) -> Iterator[None]:
    """Raises UsageError where what is done inside ends in an OSError."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{what} could not be written to {directory}.",
            f"{type(error).__name__}: {error.strerror or error}",
            "Name a directory that can be written, with room on its disk: --out DIR",
        ) from error
