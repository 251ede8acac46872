"""What is known to be one failure though it looks like two, as tables. Every other difference makes another failure.

A row is a measured fact: it says what decides between the two, and where that was seen. A row that is too wide lets a
reduction end in another bug, so it names types and the beginning of the message, never "any error".
"""

from __future__ import annotations

from dataclasses import dataclass

from triage.model.stage import OutcomeKind

Ending = tuple[OutcomeKind, str]  # the kind of an outcome, and the exception's type (of a crash the signal)


@dataclass(frozen=True)
class Equivalence:
    """One failure that ends a process in either of two ways. The skeletons are equal, and begin with `says`."""

    one: Ending
    other: Ending
    says: str
    why: str

    def holds(self, left: Ending, right: Ending, skeleton: str) -> bool:
        """Whether these two endings with this skeleton in common are the pair of the row, in either order."""
        return {left, right} == {self.one, self.other} and skeleton.startswith(self.says)


EQUIVALENCES = (
    Equivalence(
        (OutcomeKind.CRASH, "SIGABRT"),
        (OutcomeKind.EXCEPTION, "RuntimeError"),
        "kernel, ",
        "A check of a compiled kernel, thrown inside an OpenMP region, aborts the process; else it is a RuntimeError. The "
        "number of threads and the size of a tensor decide which (pytorch#195402), so a reduction meets both.",
    ),
)

# Types that a later torch renamed, everywhere: measured on 2.1 to 2.15. With fullgraph=True it was an Unsupported at first.
RENAMED_TYPES = {
    "CacheLimitExceeded": "RecompileLimitExceeded",
    "FailOnRecompileLimitHit": "RecompileLimitExceeded",
}

# Types that stand for each other between two releases, and only there: BackendCompilerFailed became InductorError in 2.7
# for errors of Inductor; both are wrappers, unwrapped where they can be.
SAME_ACROSS_RELEASES = {"InductorError": "BackendCompilerFailed", "LoweringException": "BackendCompilerFailed"}
