"""The compiler's other doors (torch.export, AOTInductor, TorchScript, ...): who fails in one fails without torch.compile too.

Its frames name the door and the stage it died in. There is no ladder behind these doors, nothing is compared and no graph is
captured: what is reduced is the program's text, with a call in eager in the place of the door as what must pass
(`agent/hooks/doors.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from triage.judge.signature import FailureSignature, is_user_frame, torch_frame
from triage.judge.skeleton import short_type
from triage.judge.stacks import threads_of
from triage.locate.ladder import suspect
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import Stage


@dataclass(frozen=True)
class Door:
    """`name` is what the program called, `stage` where its frames say it died (none: in the door's own code)."""

    name: str
    stage: Stage


# What a program calls, by the frame in torch that it enters by: the outermost of them is the program's.
_ENTRANCES = (
    (re.compile(r"torch/_inductor/__init__\.py:(?:aoti_compile_and_package|aot_compile)$"), "AOTInductor"),
    (re.compile(r"torch/_export/__init__\.py:aot_compile$"), "AOTInductor"),
    (re.compile(r"torch/onnx/"), "torch.onnx.export"),
    (re.compile(r"torch/(?:export|_export)/"), "torch.export"),
    (re.compile(r"torch/jit/"), "torch.jit"),
    (re.compile(r"torch/fx/_symbolic_trace\.py:"), "torch.fx.symbolic_trace"),
    (re.compile(r"torch/fx/experimental/proxy_tensor\.py:(?:wrapped|trace)$"), "make_fx"),
)
_COMPILED = tuple(
    f"torch/_dynamo/eval_frame.py:{name}" for name in ("compile_wrapper", "_fn")
)  # of newer and older releases
_COMPILERS = (
    "torch/_dynamo", "torch/_functorch", "torch/_inductor", "torch/_decomp", "torch/_refs", "torch/_subclasses",
)  # fmt: skip
_NOT_THE_COMPILER = ("ModuleNotFoundError", "ImportError", "FileNotFoundError", "PermissionError")


def door_of(outcome: Outcome, signature: FailureSignature) -> Door | None:
    """The door through which a script failed that never reached torch.compile; None where it failed by itself.

    Not where the last word is the program's own (its code raised, whoever called it), nor where a file is missing.
    """
    if outcome.exception is not None and not _died_in_torch(outcome.exception):
        return None
    name = next(filter(None, map(_entered, _frames(outcome))), None)
    return Door(name, _stage(outcome, signature)) if name is not None else None


def by_compile(error: RaisedException) -> bool:
    """Whether the traceback comes from the program into a function that torch.compile made, and into nothing else of torch's."""
    inside = filter(None, map(torch_frame, error.frames))
    return next((name for name in inside if not name.startswith("torch/nn/modules/")), None) in _COMPILED


def _died_in_torch(error: RaisedException) -> bool:
    """Whether it was raised there, or in a library that it called (sympy)."""
    inner = error.innermost()
    last = next((frame for frame in reversed(inner.frames) if torch_frame(frame) or is_user_frame(frame)), None)
    return last is not None and torch_frame(last) is not None and short_type(inner.type) not in _NOT_THE_COMPILER


def _frames(outcome: Outcome) -> tuple[Frame, ...]:
    """Outermost first; of a crash or a hang those of the main thread."""
    if outcome.exception is not None:
        return outcome.exception.frames
    return next(reversed(threads_of(outcome.stacks)), ())


def _entered(frame: Frame) -> str | None:
    inside = torch_frame(frame) or ""
    return next((name for pattern, name in _ENTRANCES if pattern.match(inside)), None)


def _stage(outcome: Outcome, signature: FailureSignature) -> Stage:
    known = any(frame.startswith(_COMPILERS) for frame in signature.frames) or bool(outcome.stacks)
    return suspect(signature, outcome) if known else Stage.NONE
