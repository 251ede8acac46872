"""Is it the same failure? The questions that really differ, each a function of two signatures."""

from __future__ import annotations

from triage.judge.signature import FailureSignature
from triage.model.stage import OutcomeKind


def same_failure(left: FailureSignature, right: FailureSignature) -> bool:
    """Type, message skeleton and innermost torch frame agree (the signal and telling line, for a crash)."""
    if left.kind is not right.kind:
        return _one_throw(left, right) or _one_throw(right, left)
    if left.exception_type != right.exception_type:
        return False
    if left.skeleton != right.skeleton or not same_wrongness(left, right):
        return False
    if not left.frames or not right.frames:
        return not left.frames and not right.frames
    return left.frames[0] == right.frames[0]


def same_wrongness(left: FailureSignature, right: FailureSignature) -> bool:
    """Whether two wrong results are of one kind and in one place, as far as both are known."""
    return left.wrong is None or right.wrong is None or left.wrong.same(right.wrong)


def _one_throw(crash: FailureSignature, error: FailureSignature) -> bool:
    """One check of a compiled kernel: thrown inside an OpenMP region it aborts the process, else it is a RuntimeError.

    The number of threads and the size of a tensor decide which (pytorch#195402), so both faces are met in a reduction.
    """
    if (crash.kind, error.kind) != (OutcomeKind.CRASH, OutcomeKind.EXCEPTION):
        return False
    return (
        (crash.exception_type, error.exception_type) == ("SIGABRT", "RuntimeError")
        and crash.skeleton.startswith("kernel, ")
        and crash.skeleton == error.skeleton
    )


def same_face(left: FailureSignature, right: FailureSignature) -> bool:
    """The failure looks the same to a reader: as `same_failure`, without the frame. For showing, never for reducing."""
    return (left.kind, left.exception_type, left.skeleton) == (right.kind, right.exception_type, right.skeleton)
