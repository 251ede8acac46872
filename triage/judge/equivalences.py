"""What is known to be one failure though it looks like two, as tables. Every other difference makes another failure.

A row is a measured fact: it says what decides between the two, and where that was seen. A row that is too wide lets a
reduction end in another bug, so it names types and the beginning of the message, never "any error".
"""

from __future__ import annotations

from dataclasses import dataclass

from triage.model.stage import OutcomeKind

Ending = tuple[OutcomeKind, str]  # the kind of an outcome, and the exception's type (of a crash the signal)


TORN = "terminate called recursively"  # all that is left of the message where several threads throw at once


@dataclass(frozen=True)
class Equivalence:
    """One failure that ends in either of two ways. The skeletons are equal, and begin with `says`; with `one_says` the first
    one's begins with that, and the other one's so.
    """

    one: Ending
    other: Ending
    says: str
    why: str
    one_says: str | None = None

    def holds(self, left: Ending, left_says: str, right: Ending, right_says: str) -> bool:
        """Whether these two endings with their skeletons are the pair of the row, in either order."""
        return self._holds(left, left_says, right, right_says) or self._holds(right, right_says, left, left_says)

    def _holds(self, one: Ending, says: str, other: Ending, other_says: str) -> bool:
        if (one, other) != (self.one, self.other) or not other_says.startswith(self.says):
            return False
        return says == other_says if self.one_says is None else says.startswith(self.one_says)


EQUIVALENCES = (
    Equivalence(
        (OutcomeKind.EXCEPTION, "RuntimeError"),
        (OutcomeKind.EXCEPTION, "RuntimeError"),
        "kernel, <path>:N, index out of bounds",
        "An index of a scatter that adds is checked by ATen's kernel, to which Inductor leaves it where there are several "
        "threads, and else by its own (`use_scatter_fallback` in torch/_inductor/utils.py). Candidates have one thread.",
        one_says="index N is out of bounds for dimension",
    ),
    Equivalence(
        (OutcomeKind.CRASH, "SIGABRT"),
        (OutcomeKind.EXCEPTION, "RuntimeError"),
        "kernel, ",
        "A check of a compiled kernel, thrown inside an OpenMP region, aborts the process; else it is a RuntimeError. The "
        "number of threads and the size of a tensor decide which (pytorch#195402), so a reduction meets both.",
    ),
    Equivalence(
        (OutcomeKind.CRASH, "SIGABRT"),
        (OutcomeKind.CRASH, "SIGABRT"),
        "kernel, ",
        "Several threads of the kernel throw at once, and the second one ends the process before the first has printed what it "
        "threw: two runs of three with two threads (the check of pytorch#195402).",
        one_says=TORN,
    ),
    Equivalence(
        (OutcomeKind.CRASH, "SIGABRT"),
        (OutcomeKind.EXCEPTION, "RuntimeError"),
        "kernel, ",
        "Both of them: the program has many elements and two threads, its reproducer few and one (pytorch#195402).",
        one_says=TORN,
    ),
    Equivalence(
        (OutcomeKind.EXCEPTION, "RuntimeError"),
        (OutcomeKind.EXCEPTION, "AcceleratorError"),
        "CUDA error: ",
        "What went wrong in a kernel is told by the call that waits for the device next: one of torch (an AcceleratorError since "
        "2.8, torch/csrc/Exceptions.h), or the launch of a kernel of Triton's (a RuntimeError).",
    ),
)

# Types that a later torch renamed, everywhere: measured on 2.1 to 2.15. With fullgraph=True it was an Unsupported at first.
RENAMED_TYPES = {"CacheLimitExceeded": "RecompileLimitExceeded", "FailOnRecompileLimitHit": "RecompileLimitExceeded"}

# Types that stand for each other between two releases, and only there: BackendCompilerFailed became InductorError in 2.7
# for errors of Inductor; both are wrappers, unwrapped where they can be.
SAME_ACROSS_RELEASES = {"InductorError": "BackendCompilerFailed", "LoweringException": "BackendCompilerFailed"}
