"""What one outcome tells by itself, whatever the others show: how a failure shows, in which pass, whose verdict it is."""

from __future__ import annotations

from collections.abc import Sequence

from triage.judge.signature import is_programs_own, is_verdict
from triage.judge.stacks import program_thread
from triage.model import accuracy
from triage.model.outcome import Outcome
from triage.model.stage import Direction, OutcomeKind, Symptom


def is_script_check(outcome: Outcome) -> bool:
    """Whether the failure is the program's own verdict on results, not an exception that left compiled code."""
    exception = outcome.exception
    if exception is None or outcome.kind not in (OutcomeKind.WRONG_RESULT, OutcomeKind.EXCEPTION):
        return False
    return is_verdict(exception)


def is_comparison(outcome: Outcome) -> bool:
    """Whether the program saw nothing amiss, and the agent found a wrong value in a compiled graph."""
    return outcome.exception is not None and outcome.exception.phase == accuracy.PHASE


def is_printed(outcome: Outcome) -> bool:
    """Whether the program saw nothing amiss, and prints other numbers than it does uncompiled."""
    return outcome.exception is not None and outcome.exception.phase == accuracy.PRINTED


def symptom_of(outcome: Outcome) -> Symptom:
    """How the failure shows. A failed comparison in the script's own code is a wrong result."""
    by_kind = {
        OutcomeKind.CRASH: Symptom.CRASH,
        OutcomeKind.OOM: Symptom.CRASH,
        OutcomeKind.HANG: Symptom.HANG,
        OutcomeKind.WRONG_RESULT: Symptom.WRONG_RESULT,
    }
    if outcome.kind is OutcomeKind.OOM and outcome.exception is not None:
        return Symptom.EXCEPTION
    return by_kind.get(outcome.kind, Symptom.EXCEPTION)


def direction_of(outcome: Outcome) -> Direction | None:
    """Backward where the exception left a backward pass, or was raised while the joint or backward graph was traced, or where
    a program hangs in one.

    None where the program's own line raised it, outside of compiled code, or it ended with a status: a check of gradients stands
    behind both passes.
    """
    exception = outcome.exception
    if exception is None:
        frames = [(frame.file, frame.function) for frame in program_thread(outcome.stacks)]
        return Direction.BACKWARD if outcome.kind is OutcomeKind.HANG and _in_backward(frames) else None
    frames = [(frame.file, frame.function) for level in exception.levels for frame in level.frames]
    if exception.phase == "backward" or _in_backward(frames):
        return Direction.BACKWARD
    if is_script_check(outcome) and (is_programs_own(exception) or not exception.frames):
        return None
    return Direction.FORWARD


def _in_backward(frames: Sequence[tuple[str, str]]) -> bool:
    """Whether these frames, of files and functions, are those of a backward pass, or of its compilation."""
    return any(
        function in ("_backward_impl", "backward_impl", "call_bw_compiler", "_compile_bw")
        or ("runtime_wrappers" in file and function == "backward")
        or ("torch/autograd/__init__" in file and function in ("grad", "backward"))
        for file, function in frames
    )
