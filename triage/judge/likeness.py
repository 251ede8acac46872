"""Is it the same failure? The questions that really differ, each a function of two signatures."""

from __future__ import annotations

from triage.judge.equivalences import EQUIVALENCES, TORN
from triage.judge.signature import FailureSignature

SHORTEST_TELLING = 7  # letters: a message that is shorter may be found in any other


def same_failure(left: FailureSignature | None, right: FailureSignature | None) -> bool:
    """Type, message skeleton and innermost torch frame agree (the signal and telling line, for a crash), and what beside these
    tells two failures apart that end in the same words.

    What has no signature is like nothing.
    """
    if left is None or right is None:
        return False
    if (left.kind, left.exception_type, left.skeleton) != (right.kind, right.exception_type, right.skeleton):
        return known_pair(left, right)
    if not same_wrongness(left, right) or not same_specialisation(left, right):
        return False
    if not left.frames or not right.frames:
        return not left.frames and not right.frames
    return left.frames[0] == right.frames[0]


def same_wrongness(left: FailureSignature, right: FailureSignature) -> bool:
    """Whether two wrong results are of one kind and in one place, as far as both are known."""
    return left.wrong is None or right.wrong is None or left.wrong.same(right.wrong)


def same_specialisation(left: FailureSignature, right: FailureSignature) -> bool:
    """Whether one operation may have made a constant of a size, as far as both messages tell: all else of the two is the same."""
    one, other = left.specialised_by, right.specialised_by
    return not one or not other or not set(one).isdisjoint(other)


def known_pair(left: FailureSignature, right: FailureSignature) -> bool:
    """Whether the two are known to be one failure that ends in two ways: a row of `equivalences.EQUIVALENCES`."""
    one, other = (left.kind, left.exception_type), (right.kind, right.exception_type)
    return any(row.holds(one, left.skeleton, other, right.skeleton) for row in EQUIVALENCES)


def is_torn(signature: FailureSignature | None) -> bool:
    """Whether the message was lost: a run that kept it tells more."""
    return signature is not None and signature.skeleton == TORN


def same_face(left: FailureSignature | None, right: FailureSignature | None) -> bool:
    """The failure looks the same to a reader: as `same_failure`, without the frame. For showing, never for reducing."""
    if left is None or right is None:
        return False
    if (left.kind, left.exception_type) != (right.kind, right.exception_type):
        return False
    return left.skeleton == right.skeleton or known_pair(left, right)


def met_as(found: FailureSignature, known: FailureSignature) -> bool:
    """Whether a compiled program meets what it meets uncompiled; Dynamo may wrap the same words in its own."""
    if found.skeleton == known.skeleton:
        return found.exception_type == known.exception_type
    return in_other_words(found, known)


def in_other_words(found: FailureSignature, known: FailureSignature) -> bool:
    """Whether it says among other things what is known."""
    return len(known.skeleton) > SHORTEST_TELLING and known.skeleton in found.skeleton
