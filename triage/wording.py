"""The one sentence that says what was found."""

from __future__ import annotations

from triage.locate.conclude import Conclusion
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe

_NAMES = {"uncompiled": "without torch.compile", "as_is": "the script's own backend"}


def summary_sentence(conclusion: Conclusion, first: Probe | None, incomplete: str | None) -> str:
    """What fails, on which rung first, and with what."""
    if first is None:
        return f"Nothing is known yet: {incomplete or 'the script was not run'}."
    if conclusion.symptom is Symptom.NONE:
        if not first.notes.compile_calls:
            return "The script passes, and it never calls torch.compile."
        return "The script passes on every rung that was run: nothing to report."
    face = _face(conclusion)
    if conclusion.stage is Stage.SCRIPT:
        return f"The script also fails without torch.compile, with {face}: the compiler is not to blame."
    if conclusion.random_check:
        return (
            f"The script's own check fails with {face}, and so it does without torch.compile when the function draws other "
            "random numbers: it compares random streams that torch.compile does not keep, not a compiler bug."
        )
    if not conclusion.settled or conclusion.failing is None:
        reason = f" ({incomplete})" if incomplete else ""
        return f"The script fails with {face}; the stage to blame was not settled{reason}."
    below = conclusion.passing.name if conclusion.passing else "uncompiled"
    good = "Without torch.compile the script passes" if below == "uncompiled" else f"`{below}` passes"
    bad = (
        "the script's own backend is the first that fails"
        if conclusion.failing.stage is Stage.BACKEND
        else f"`{conclusion.failing.name}` is the first backend that fails"
    )
    if conclusion.symptom is Symptom.NONDETERMINISTIC:
        return f"{good}, {bad}, in {conclusion.failures} of {conclusion.runs} runs, with {face}."
    return f"{good}, {bad}, with {face}."


def _face(conclusion: Conclusion) -> str:
    outcome, signature = conclusion.outcome, conclusion.signature
    assert outcome is not None and signature is not None
    message = next((line.strip() for line in signature.message.splitlines() if line.strip()), "")[:160].rstrip(".")
    if outcome.kind is OutcomeKind.HANG:
        return f"no end within {outcome.seconds:.0f} s ({message})"
    if outcome.kind is OutcomeKind.CRASH:
        return f"{outcome.signal or 'a crash'}: {message}" if message != outcome.signal else str(outcome.signal)
    return f"{signature.exception_type}: {message}" if message else signature.exception_type
