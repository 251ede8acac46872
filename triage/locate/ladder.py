"""Which rungs of the table (`model/rungs.py`) a script is walked on, and what a first failure suggests."""

from __future__ import annotations

from collections.abc import Sequence

from triage.judge.signature import FailureSignature
from triage.model.outcome import CompileCall, Outcome
from triage.model.rungs import DEFAULT_BACKEND, LADDER, OWN_BACKEND, Rung
from triage.model.stage import OutcomeKind, Stage


def ladder_for(calls: Sequence[CompileCall]) -> tuple[tuple[Rung, ...], int]:
    """(rungs, index of the rung that the script as it is stands on), from its own uses of torch.compile."""
    names = [rung.name for rung in LADDER]
    backends = {call.backend or DEFAULT_BACKEND for call in calls}
    if any(call.custom_backend and call.backend not in names for call in calls):
        return (*LADDER, OWN_BACKEND), len(LADDER)
    if len(backends) == 1:
        backend = backends.pop()
        if backend in names:
            top = names.index(backend)
            return LADDER[: top + 1], top
    return LADDER, len(LADDER) - 1


def suspect(signature: FailureSignature, outcome: Outcome) -> Stage:
    """The stage that a failure's frames speak for. Only a guess that orders the visits: the ladder decides."""
    frames = " ".join(signature.frames)
    if outcome.kind is OutcomeKind.HANG and "torch/_inductor" not in outcome.stacks:
        # Every compiled call has a frame of Dynamo's; only while it traces is its interpreter on the stack.
        if "torch/_functorch" in outcome.stacks:
            return Stage.AOT_AUTOGRAD
        if "torch/_dynamo/symbolic_convert" in outcome.stacks:
            return Stage.DYNAMO
    if outcome.kind in (OutcomeKind.CRASH, OutcomeKind.HANG, OutcomeKind.OOM):
        return Stage.INDUCTOR
    if signature.is_of_tracing and "torch/_inductor" not in frames:
        return Stage.DYNAMO  # in a call with fake tensors, it may be, to what decompositions are made of
    if "_inductor/decomposition" in frames or "_decomp/" in frames or "_refs/" in frames:
        return Stage.DECOMP_PARTITION
    if signature.wrapper == "InductorError" or "torch/_inductor" in frames:
        return Stage.INDUCTOR
    if "_functorch" in frames or signature.wrapper == "BackendCompilerFailed":
        return Stage.AOT_AUTOGRAD
    if "torch/_dynamo" in frames:
        return Stage.DYNAMO
    return Stage.INDUCTOR
