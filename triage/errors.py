"""The errors a user can meet. Each says three things: what went wrong, why we think so, and what to type next.

They carry the exit code of the contract, so that one place (the command line) turns them into text and a status. Anything
else that escapes is a bug of triage and ends in exit code 70.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

EXIT_OK, EXIT_NOTHING = 0, 1  # found what was asked for (of a sweep: nothing fails), or not
EXIT_USAGE, EXIT_SCRIPT, EXIT_TARGET, EXIT_PARTIAL = 2, 3, 4, 5
EXIT_BUG, EXIT_INTERRUPTED = 70, 130


class TriageError(Exception):
    """Something that the user can put right. `what`, `why` and `next` are sentences without a traceback."""

    exit_code = EXIT_BUG

    def __init__(self, what: str, why: str = "", next: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.next = next

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.next) if part)


class UsageError(TriageError):
    """The command cannot mean anything: a missing script, an unknown option value, a path that is no run."""

    exit_code = EXIT_USAGE


class TargetError(TriageError):
    """The target cannot be used: no interpreter, no torch in it, no compiler."""

    exit_code = EXIT_TARGET


def why(error: OSError) -> str:
    """`PermissionError: Permission denied`."""
    return f"{type(error).__name__}: {error.strerror or error}"


@contextlib.contextmanager
def written(what: str, next: str, kind: type[TriageError] = UsageError) -> Iterator[None]:
    """Where what is done inside ends in an OSError, `what` cannot be written: raises `kind`, which says why."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what} cannot be written.", why(error), next) from error
