"""Exceptions that a program handles itself: which of them it meets uncompiled as well.

A server that answers a bad request with an error meets an exception in eager, too. A compiler may say the same in other words,
or where an operation is decomposed another operation says it: what the program sees is the type, at the call that it guards.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from triage.judge.likeness import met_as
from triage.judge.signature import signature_of_raised, torch_frame
from triage.model.outcome import RaisedException

_COMPILED_CALL = "torch/_dynamo/eval_frame.py"  # through its frames a program comes to what it compiled


def handled(raised: Sequence[RaisedException]) -> list[RaisedException]:
    """Those after which the program went on."""
    return [each for each in raised if each.swallowed]


def unexpected(found: Sequence[RaisedException], known: Sequence[RaisedException]) -> list[RaisedException]:
    """Of what a compiled program handles that which it does not meet uncompiled (`known`), in the same words or at one call.

    What is said in other words counts once for each that is known: another one from that call is news.
    """
    words, told = ([signature_of_raised(each) for each in raised] for raised in (known, found))
    news = [each for each, mine in zip(found, told, strict=True) if not any(met_as(mine, one) for one in words)]
    spare = [each for each, one in zip(known, words, strict=True) if not any(met_as(other, one) for other in told)]
    left = []
    for each in news:
        same = next((one for one in spare if _at_the_same_call(each, one)), None)
        if same is None:
            left.append(each)
        else:
            spare.remove(same)
    return left


def _at_the_same_call(found: RaisedException, known: RaisedException) -> bool:
    """Whether both are of one type and left one call of what is compiled, which ran: no compiler failed."""
    if found.phase != "call" or found.inner is not None or found.type != known.type:
        return False
    call = _way_to_call(found)[-1:]
    return bool(call) and call[0] in _way_to_call(known)


def _way_to_call(exception: RaisedException) -> list[tuple[str, str, str]]:
    """The program's own lines that lead to the compiled call, the outermost first: by their text, as a change moves lines."""
    lines = []
    for frame in exception.frames:
        place = torch_frame(frame)
        if place is None:
            lines.append((PurePosixPath(frame.file.replace("\\", "/")).name, frame.function, frame.code))
        elif place.startswith(_COMPILED_CALL):
            break
    return lines
