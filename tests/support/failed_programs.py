"""Failures as signatures."""

from triage.judge.signature import FailureSignature, signature_of
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind

SITE = "/opt/venv/lib/python3.11/site-packages"


def frame(file: str, function: str, line: int = 7) -> Frame:
    return Frame(file, line, function)


def failed(
    kind: str, message: str, *frames: tuple[str, str], prefix: str = SITE, line: int = 100, **more: object
) -> FailureSignature:
    """The signature of an exception raised inside torch (paths below site-packages), called from a user's script."""
    trace = (
        frame("/home/ann/train.py", "main", line),
        *(frame(f"{prefix}/{file}", name, line) for file, name in frames),
    )
    found = signature_of(Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message, trace, **more)))
    assert found is not None
    return found


BACKEND, INDUCTOR = "torch._dynamo.exc.BackendCompilerFailed", "torch._inductor.exc.InductorError"
LOWER, CPP = "torch._inductor.exc.LoweringException", "torch._inductor.exc.CppCompileError"
UNSUPPORTED, INTERNAL = "torch._dynamo.exc.Unsupported", "torch._dynamo.exc.InternalTorchDynamoError"
TORCH_RUNTIME, SUBPROC = (
    "torch._dynamo.exc.TorchRuntimeError",
    "torch._inductor.compile_worker.subproc_pool.SubprocException",
)
