"""The compiler's other doors (torch.export, AOTInductor, TorchScript, ...): who fails in one fails without torch.compile too.

Its frames name the door and the stage it died in. There is no ladder behind these doors, nothing is compared and no graph is
captured: what is reduced is the program's text, with a call in eager in the place of the door as what must pass
(`agent/hooks/doors.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

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
# Of newer and of older releases.
_COMPILED = tuple(f"torch/_dynamo/eval_frame.py:{name}" for name in ("compile_wrapper", "_fn"))
_AUTOGRAD = ("torch/_tensor.py:backward", "torch/autograd/")
_AOT_AUTOGRAD = ("torch/_functorch/_aot_autograd/", "torch/_functorch/aot_autograd.py")
_COMPILERS = ("torch/_dynamo", "torch/_functorch", "torch/_inductor", "torch/_decomp", "torch/_refs")
_FOR_TORCH = (
    "torch/_higher_order_ops/",
    "torch/_dynamo/",
    "torch/_functorch/",
)  # who goes through a door for its own ends
_NOT_THE_COMPILER = ("ModuleNotFoundError", "ImportError", "FileNotFoundError", "PermissionError")


def door_of(outcome: Outcome, signature: FailureSignature) -> Door | None:
    """The door through which a script failed that never reached torch.compile; None where it failed by itself.

    Not where the last word is the program's own (its code raised, whoever called it), nor where a file is missing.
    """
    if outcome.exception is not None and not _died_in_torch(outcome.exception):
        return None
    its_own = takewhile(lambda frame: not (torch_frame(frame) or "").startswith(_FOR_TORCH), _frames(outcome))
    name = next(filter(None, map(_entered, its_own)), None)
    return Door(name, _stage(outcome, signature)) if name is not None else None


def by_compile(error: RaisedException) -> bool:
    """Whether the traceback comes from the program into what torch.compile made, a function or its backward, and nothing else."""
    inside = [name for name in map(torch_frame, error.frames) if name is not None]
    called = list(dropwhile(lambda name: name.startswith("torch/nn/modules/"), inside))
    if not called or not called[0].startswith(_AUTOGRAD):
        return bool(called) and called[0] in _COMPILED
    of_graph = list(dropwhile(lambda name: name.startswith(_AUTOGRAD), called))
    # AOTAutograd can be called by itself: a compiler's own frame tells that torch.compile did.
    return any(name.startswith(_AOT_AUTOGRAD) for name in of_graph[:1]) and any(
        name.startswith(("torch/_dynamo/", "torch/_inductor/")) for name in of_graph
    )


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
    """Of the innermost of the compiler's frames; not of those outside of a function of the program's that is being traced."""
    if any(frame.startswith(_COMPILERS) for frame in signature.frames) or outcome.stacks:
        return suspect(signature, outcome)
    if outcome.exception is None:
        return Stage.NONE
    # What it died in is a helper that any of them may call (torch/utils/_sympy, torch/fx): the nearest around it asked.
    around = takewhile(lambda frame: not is_user_frame(frame), reversed(outcome.exception.innermost().frames))
    asking = next((name for name in map(torch_frame, around) if name is not None and name.startswith(_COMPILERS)), None)
    return suspect(replace(signature, frames=(asking,)), outcome) if asking is not None else Stage.NONE
