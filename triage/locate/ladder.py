"""The ladder as data: the rungs in order, and what a first failure suggests.

Each rung adds one part of the stack to the one below it, so the first rung that fails names the guilty part:
`eager` is Dynamo alone; `aot_eager` adds AOTAutograd; `aot_eager_decomp_partition` adds Inductor's decompositions and the
min-cut partitioner; `inductor` adds lowering, scheduling and code generation (torch/_dynamo/backends/debugging.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triage.judge.signature import FailureSignature
from triage.model.outcome import CompileCall, Outcome
from triage.model.stage import OutcomeKind, Stage

AS_IS = "as_is"


@dataclass(frozen=True)
class Rung:
    """`force` is what the agent is told: a backend, `uncompiled`, or None to leave the script as it is."""

    name: str
    force: str | None
    stage: Stage


UNCOMPILED = Rung("uncompiled", "uncompiled", Stage.SCRIPT)
LADDER: tuple[Rung, ...] = (
    UNCOMPILED,
    Rung("eager", "eager", Stage.DYNAMO),
    Rung("aot_eager", "aot_eager", Stage.AOT_AUTOGRAD),
    Rung("aot_eager_decomp_partition", "aot_eager_decomp_partition", Stage.DECOMP_PARTITION),
    Rung("inductor", "inductor", Stage.INDUCTOR),
)
OWN_BACKEND = Rung(AS_IS, None, Stage.BACKEND)


def ladder_for(calls: Sequence[CompileCall]) -> tuple[tuple[Rung, ...], int]:
    """(rungs, index of the rung that the script as it is stands on), from its own uses of torch.compile."""
    backends = {call.backend or "inductor" for call in calls}
    if any(call.custom_backend for call in calls):
        return (*LADDER, OWN_BACKEND), len(LADDER)
    if len(backends) == 1:
        names = [rung.name for rung in LADDER]
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
    if "_inductor/decomposition" in frames or "_decomp/" in frames or "_refs/" in frames:
        return Stage.DECOMP_PARTITION
    if signature.wrapper == "InductorError" or "torch/_inductor" in frames:
        return Stage.INDUCTOR
    if "_functorch" in frames or signature.wrapper == "BackendCompilerFailed":
        return Stage.AOT_AUTOGRAD
    if "torch/_dynamo" in frames or signature.wrapper in (
        "Unsupported",
        "InternalTorchDynamoError",
        "TorchRuntimeError",
    ):
        return Stage.DYNAMO
    return Stage.INDUCTOR
