"""The errors a user can meet. Each says three things: what went wrong, why we think so, and what to type next.

They carry the exit code of the contract, so that one place (the command line) turns them into text and a status. Anything
else that escapes is a bug of triage and ends in exit code 70.
"""

from __future__ import annotations

# Found what was asked for (of a sweep: nothing fails); not found; wrong usage; the script itself; the target; a part; ours.
EXIT_OK, EXIT_NOTHING, EXIT_USAGE, EXIT_SCRIPT, EXIT_TARGET, EXIT_PARTIAL, EXIT_BUG, EXIT_INTERRUPTED = (
    0,
    1,
    2,
    3,
    4,
    5,
    70,
    130,
)


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
