"""From the outcome of a script under one torch to good, bad or skip, tolerant of what releases change.

The same failure is bad, a pass is good, and anything else is skipped with its reason: a version is never called bad for a
failure that nobody asked about. Between releases line numbers, wording and private functions move, so two failures are the
same when their exception type agrees (after torch's renames) and one of these does: the message's skeleton; the line of the
user's program, for failures that torch or the script itself states; wording and innermost file together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from triage.bisect.missing import missing_feature
from triage.judge.equivalences import SAME_ACROSS_RELEASES
from triage.judge.likeness import same_wrongness
from triage.judge.naming import first_words, headline
from triage.judge.signature import (
    FailureSignature,
    is_user_frame,
    signature_of,
    signature_of_raised,
    torch_frame,
    user_frame,
)
from triage.model.bisection import Standing
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.model.text import clip

# What torch's compiler says about the user's program. It rewords these from release to release.
STATEMENTS = frozenset(
    {"Unsupported", "TorchRuntimeError", "UserError", "RecompileLimitExceeded", "ConstraintViolationError"}
)

# Share of words in common from which on two messages of one file of torch are one message, reworded; less will do where
# they are about one line of the program as well.
SIMILAR, SIMILAR_HERE = 0.6, 0.35
_WORD = re.compile(r"\w+|<\w+>")


@dataclass(frozen=True)
class Face:
    """A failure, and the line of the user's program it is about (function and source text, without its number)."""

    signature: FailureSignature
    place: str | None = None
    own_check: bool = False  # raised by the program itself, not by torch

    def line(self) -> str:
        """The failure on one line, bounded."""
        return clip(headline(self.signature.exception_type, first_words(self.signature.message)), 240)


@dataclass(frozen=True)
class Judged:
    """`error` is the failure or the reason of a skip; `note` is what a reader must know about a bad one."""

    standing: Standing
    error: str | None = None
    note: str | None = None
    face: Face | None = field(default=None, compare=False)


def judge(outcome: Outcome, notes: AgentNotes, wanted: Face | None) -> Judged:
    """What this outcome says. `wanted` is the failure that is looked for; None while the bad end is asked for it."""
    if outcome.kind is OutcomeKind.INVALID:
        return Judged(Standing.SKIP, f"could not be started: {outcome.detail}".rstrip(": "))
    faces = faces_of(outcome, notes)
    for face in faces:
        if wanted is not None and (likeness := alike(face, wanted)) is not None:
            return Judged(Standing.BAD, face.line(), likeness or None, face)
    if not outcome.failed or outcome.exit_code == 0:
        return Judged(Standing.GOOD)  # what the program handled itself is not its failure
    if not notes.started or notes.torch_version is None:
        return Judged(Standing.SKIP, f"it failed before torch was imported: {_said(faces, outcome)}")
    lacking = missing_feature(outcome.exception) if outcome.exception is not None else None
    if lacking is not None:
        return Judged(Standing.SKIP, lacking)
    if wanted is None and faces:
        return Judged(Standing.BAD, faces[0].line(), None, faces[0])
    return Judged(Standing.SKIP, f"another failure: {_said(faces, outcome)}", None, faces[0] if faces else None)


def faces_of(outcome: Outcome, notes: AgentNotes) -> list[Face]:
    """The failure that ended the program, or, where it ended well, those that it or torch swallowed."""
    if outcome.failed and outcome.exit_code != 0:
        signature = signature_of(outcome)
        return [_face(signature, outcome.exception)] if signature is not None else []
    return [_face(signature_of_raised(exception), exception) for exception in notes.raised if exception.swallowed]


def alike(found: Face, wanted: Face) -> str | None:
    """Whether these are one failure: None where they are not, else what differs (an empty text where nothing does)."""
    left, right = found.signature, wanted.signature
    if not _same_kind(left, right) or not same_wrongness(left, right):
        return None
    if left.kind in (OutcomeKind.HANG, OutcomeKind.OOM):
        return ""
    if left.skeleton == right.skeleton:
        if left.skeleton or left.kind is OutcomeKind.CRASH:
            return ""
        said_elsewhere = _same_file(left, right) or (found.own_check and _same_place(found, wanted))
        return "" if said_elsewhere else None  # the message itself says nothing
    reworded = f"worded otherwise than where it was first seen ({wanted.line()})"
    if left.kind is OutcomeKind.CRASH:
        return reworded  # the same signal; its last words depend on the C library
    if _same_place(found, wanted) and (found.own_check or left.exception_type in STATEMENTS):
        return "" if found.own_check else reworded
    enough = SIMILAR_HERE if _same_place(found, wanted) else SIMILAR
    similar = similarity(left.skeleton, right.skeleton) >= enough
    return reworded if similar and (_same_file(left, right) or not (left.frames and right.frames)) else None


def similarity(left: str, right: str) -> float:
    """Share of the words of two skeletons that agree in order, 0 to 1."""
    words = [_WORD.findall(text.lower()) for text in (left, right)]
    return SequenceMatcher(None, words[0], words[1], autojunk=False).ratio() if all(words) else 0.0


def _face(signature: FailureSignature, exception: RaisedException | None) -> Face:
    if exception is None:
        return Face(signature)
    frame = user_frame(exception)
    place = f"{frame.function}: {frame.code}" if frame is not None and frame.code else None
    last = exception.frames[-1] if exception.frames and exception.inner is None else None
    own = last is not None and torch_frame(last) is None and is_user_frame(last) and not exception.user_code
    return Face(signature, place, own)


def _same_kind(left: FailureSignature, right: FailureSignature) -> bool:
    if _type(left) != _type(right):
        return False
    # A failed comparison is a wrong result or a bare exception, depending on its text alone.
    raised = (OutcomeKind.EXCEPTION, OutcomeKind.WRONG_RESULT)
    return left.kind is right.kind or (left.kind in raised and right.kind in raised)


def _type(signature: FailureSignature) -> str:
    return SAME_ACROSS_RELEASES.get(signature.exception_type, signature.exception_type)


def _same_place(found: Face, wanted: Face) -> bool:
    return found.place is not None and found.place == wanted.place


def _same_file(left: FailureSignature, right: FailureSignature) -> bool:
    files = [signature.innermost_frame.rsplit(":", 1)[0] for signature in (left, right)]
    return files[0] == files[1] and bool(files[0])


def _said(faces: list[Face], outcome: Outcome) -> str:
    if faces and outcome.kind is not OutcomeKind.HANG:
        return faces[0].line()
    if outcome.kind is OutcomeKind.HANG:
        return f"no end within {outcome.seconds:.0f} s ({outcome.detail})"
    return outcome.detail or outcome.kind.value
