"""The failure signature: what makes two failures "the same".

A signature is made of the exception's type at the bottom of torch's wrappers, the *skeleton* of its message (shapes,
line numbers, addresses, temporary paths, generated symbol and kernel names, compiler command lines normalised away), and
the innermost frames inside torch. A crash has its signal and the telling line of stderr in their place; a hang has its
phase; a wrong result its kind and place besides. Two failures are the same when type, skeleton and innermost torch frame
agree; message text alone is never enough, and "any exception" or "any difference" never is.

The rules are versioned (`SIGNATURE_VERSION` is hashed into the fingerprint), so stored fingerprints never silently
change their meaning.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from triage.judge.device import is_asynchronous, is_gpus_own, is_of_kernel_text, reason_of
from triage.judge.skeleton import (
    REFUSED,
    short_type,
    skeleton,
    skeleton_of,
    telling_lines,
    unwrap_text,
    without_collections,
    without_explanation,
)
from triage.judge.specialised import specialised_by
from triage.model.accuracy import Wrongness
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.places import in_packages
from triage.model.stage import OutcomeKind

SIGNATURE_VERSION = 1
WRONG_VERSION = 2  # of a wrong result whose kind is known

# An installed torch, or one built in place (where a package of its own name elsewhere is not torch).
_TORCH_FILE = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages)/(?:torch-[^/]*\.egg/)?(?P<package>torch|functorch|torchgen)/(?P<file>.*)$"
    r"|^(?!.*/(?:site|dist)-packages/)(?:.*/)?(?P<built>torch)/(?P<part>(?:_(?:dynamo|inductor|functorch|subclasses|decomp|refs|prims"
    r"|prims_common|higher_order_ops|export|library|ops|guards)|fx|autograd|nn/modules)(?:/|\.py).*)$"
)
# Frames that every failure of a kind shares; naming one as innermost would make different failures look alike.
_UNTELLING = re.compile(
    r"(?:^|/)torch/(?:_ops\.py|_dynamo/exc\.py|_dynamo/eval_frame\.py|_dynamo/external_utils\.py|nn/modules/module\.py|utils/_contextlib\.py"
    r"|utils/_traceback\.py|_tensor\.py|autograd/__init__\.py|autograd/graph\.py|_utils_internal\.py|_compile\.py)$"
)
# Of an error of Dynamo's own, as the user sees it; what a backend raises has another wrapper.
_OF_TRACING = ("InternalTorchDynamoError", "TorchRuntimeError", "Unsupported")
# Functions through which others are called: they raise for whom they wrap.
_WRAPPER = re.compile(r":(?:<\w+>|_*wrap\w*|\w*_wrapper|inner(?:_fn)?)$")
_GENERATED_FILE = re.compile(r"/torchinductor_[^/]*/|/inductor-cache/|/cache/\w\w/c[a-z0-9]{20,}\.py$|^<eval_with_key>")
RAISES = re.compile(r"(?:raise|assert)\b")  # a line that raises by itself
# Files of functions that compare for a program.
_CHECKING = re.compile(r"/(?:torch/testing|torch/_numpy/testing|numpy/testing|unittest|_pytest)/")
_TRACED = re.compile(r'^(?:\[(?:rank|default)\d+\]:)*\s*File "([^"\n]+)", line (\d+), in (\w+)$', re.MULTILINE)
_ABORT_LINE = re.compile(r"what\(\):\s*(.*)")
ENDED = "after the end of the program"  # while Python lets go of what it held
TRACES = "Dynamo traces the program"  # as its stack tells: no agent says so
# What the agent last said before a crash or a hang, as phases: the words for them differ from process to process.
PHASES = (
    (re.compile(r"\b(?:run graph \S+|run of the \w+ graph(?: \S+)?)"), "running compiled code"),
    (
        re.compile(
            r"\b(?:compile graph|inductor compiles|(?:lowering|scheduling|codegen|build) of the)\b(?: \S+){0,3}"
        ),
        "compiling",
    ),
    (re.compile(r"\bgraph \S+ (?:compiled|ran)\b"), "outside compiled code"),
    (re.compile(ENDED), ENDED),
    (re.compile(TRACES), "tracing"),
)


@dataclass(frozen=True)
class FailureSignature:
    """What identifies a failure. `frames` are innermost first, as `torch/_inductor/ir.py:realize`."""

    kind: OutcomeKind
    exception_type: str
    skeleton: str
    frames: tuple[str, ...] = ()
    message: str = ""  # the telling lines as they were printed
    wrapper: str | None = None  # outermost type, as the user saw it
    wrong: Wrongness | None = None  # of a wrong result: its kind, and where
    specialised_by: tuple[str, ...] = ()  # of what is raised for a size that is a constant: one of these made it that
    version: int = SIGNATURE_VERSION

    @property
    def fingerprint(self) -> str:
        """16 hex digits: stable over runs, machines, shapes and paths."""
        parts = [str(self.version), self.kind.value, self.exception_type, self.skeleton, self.innermost_frame]
        if self.wrong is not None:
            parts = [str(WRONG_VERSION), *parts[1:], self.wrong.kind, self.wrong.place, self.wrong.sense]
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]

    @property
    def innermost_frame(self) -> str:
        return self.frames[0] if self.frames else ""

    @property
    def is_of_gpu_alone(self) -> bool:
        """Whether this can come of a GPU's kernel or its compiler alone."""
        return is_gpus_own(self.exception_type, self.message, self.frames)

    @property
    def is_of_tracing(self) -> bool:
        """Whether Dynamo itself failed on the program's code: no graph that it made before is what failed."""
        return self.wrapper in _OF_TRACING


def signature_of(outcome: Outcome) -> FailureSignature | None:
    """The signature of a failed outcome, None where nothing failed."""
    if not outcome.failed:
        return None
    if outcome.exception is not None and outcome.kind in (
        OutcomeKind.EXCEPTION,
        OutcomeKind.WRONG_RESULT,
        OutcomeKind.OOM,
    ):
        return _of_exception(outcome.kind, outcome.exception)
    if outcome.kind is OutcomeKind.CRASH:
        found = _ABORT_LINE.search(outcome.detail)
        telling = found.group(1) if found else outcome.detail
        name = outcome.signal or f"exit {outcome.exit_code}"
        return FailureSignature(outcome.kind, name, _skeleton_of_end(telling), message=telling)
    return FailureSignature(outcome.kind, outcome.kind.value, _skeleton_of_end(outcome.detail), message=outcome.detail)


def signature_of_raised(exception: RaisedException) -> FailureSignature:
    """The signature of an exception by itself, whatever became of it."""
    return _of_exception(OutcomeKind.EXCEPTION, exception)


def is_refused(signature: FailureSignature | None) -> bool:
    """Whether the C++ compiler refuses the text of a kernel, and did not itself break down over it."""
    if signature is None or not signature.message.startswith(REFUSED):
        return False
    return "internal compiler error" not in signature.message


def _skeleton_of_end(detail: str) -> str:
    """What was going on when a process ended without an exception: its own telling line, else the phase."""
    return next((name for pattern, name in PHASES if pattern.search(detail)), None) or skeleton(detail)


def torch_frame(frame: Frame) -> str | None:
    """`torch/_inductor/ir.py:realize` for a frame inside torch, None for one outside it."""
    found = _TORCH_FILE.search(frame.file.replace("\\", "/"))
    if found is None:
        return None
    package, file = found.group("package") or found.group("built"), found.group("file") or found.group("part")
    return f"{package}/{file}:{frame.function}"


def place_of(signature: FailureSignature, exception: RaisedException | None) -> str:
    """The innermost function of torch to name as a place: not one that wraps others. Empty where there is none."""
    frames = list(signature.frames)
    if exception is not None:
        frames += _telling_frames(exception.innermost().frames) or _telling_frames(exception.frames)
    return next((frame for frame in frames if not _WRAPPER.search(frame)), "")


def is_generated(frame: Frame) -> bool:
    """Whether a compiler wrote this line."""
    return _GENERATED_FILE.search(frame.file.replace("\\", "/")) is not None


def is_standard_library(frame: Frame) -> bool:
    """Whether the line is Python's own, or has no file."""
    name = frame.file.replace("\\", "/")
    return not name or name.startswith("<") or re.search(r"/lib/python3(?:\.\d+)?/(?!site-|dist-)", name) is not None


def is_user_frame(frame: Frame) -> bool:
    """Whether a person wrote this line as part of the program: not torch, not the standard library, not generated."""
    name = frame.file.replace("\\", "/")
    if not name or name.startswith("<") or _GENERATED_FILE.search(name) or torch_frame(frame):
        return False
    given = in_packages(name) is not None or re.search(r"/lib/python3(?:\.\d+)?/", name)
    return not given and not is_agent_frame(frame)


def is_program_frame(frame: Frame) -> bool:
    """Written by a person: in the program, or in an installed package other than torch."""
    return is_user_frame(frame) or (in_packages(frame.file) is not None and torch_frame(frame) is None)


def is_agent_frame(frame: Frame) -> bool:
    """Whether triage put this line there."""
    name = frame.file.replace("\\", "/")
    return "/triage/agent/" in name or "/_triage_" in name


def user_frame(exception: RaisedException, own: Callable[[Frame], bool] = is_user_frame) -> Frame | None:
    """The innermost line that is the program's `own`: from Dynamo's own word where it gives one, else from the traceback."""
    for raised in (exception, exception.innermost()):
        if raised.user_code:  # Dynamo follows calls into torch's own Python
            found = next(filter(own, reversed(raised.user_code)), None)
            if found is not None:
                return found
    for raised in (exception.innermost(), exception):
        for frame in reversed(raised.frames):
            if own(frame):
                return frame
    return None


def is_programs_own(error: RaisedException) -> bool:
    """Whether a line of the program raised it, or a function of a test library that it checks results with."""
    if not error.frames:
        return False
    last = error.frames[-1]
    return is_user_frame(last) or _CHECKING.search(last.file.replace("\\", "/")) is not None


def is_programs_word(error: RaisedException) -> bool:
    """Whether the program says itself that something is wrong: its line raises, asserts or exits, and hands no exception on.

    What torch's C++ raises seems to come from the line that called it.
    """
    said = error.cause or error
    if short_type(said.type) == "SystemExit":
        return True
    return is_programs_own(said) and RAISES.match(said.frames[-1].code) is not None


def is_verdict(error: RaisedException) -> bool:
    """Whether it came after what is compiled, as the program's own word on its results does: it left no compiled code.

    What a kernel ended with comes from any line that waits for the device.
    """
    if is_asynchronous(error.innermost().message):
        return False
    return not error.swallowed and error.phase in ("uncaught", "test", "text") and error.inner is None


def _of_exception(kind: OutcomeKind, exception: RaisedException) -> FailureSignature:
    inner = exception.innermost()
    type_name, message = unwrap_text(inner.type, inner.message)
    if _explains_asserts(inner):
        message = without_explanation(message)
    if is_of_kernel_text(short_type(type_name)) and inner.cause is not None and not reason_of(message):
        message = inner.cause.message  # of a function that the kernel calls
    telling = telling_lines(type_name, message)
    raised_at = inner.frames if short_type(inner.type) != "SubprocException" else _frames_of_worker(inner.message)
    frames = tuple(_telling_frames(raised_at) or _telling_frames(inner.frames) or _telling_frames(exception.frames))
    if is_asynchronous(message):
        frames = ()  # those of the call that came to wait for the device
    if short_type(type_name) == "RecursionError":
        frames = _cycle(frames)
    # A check in the user's own code is known by its place, not by the values in its text.
    words = without_collections(telling) if is_programs_word(exception) else telling
    return FailureSignature(
        kind=kind,
        exception_type=short_type(type_name),
        skeleton=skeleton_of(type_name, words),
        frames=frames[:3],
        message=telling[:4000],
        wrapper=short_type(exception.type),
        wrong=exception.wrong or (exception.check.wrongness if exception.check is not None else None),
        specialised_by=specialised_by(message),
    )


def _frames_of_worker(message: str) -> tuple[Frame, ...]:
    """Where a compile worker raised: whether a kernel is built there or in the program's own process is chance."""
    last = message.rpartition("Traceback (most recent call last):")[2]
    return tuple(Frame(file, int(line), function) for file, line, function in _TRACED.findall(last))


def _explains_asserts(error: RaisedException) -> bool:
    """Whether pytest ran an `assert` that failed: its explanation is made of values, and no plain run of the same line has it."""
    under = any("/_pytest/" in frame.file.replace("\\", "/") for frame in error.frames)
    return error.type == "AssertionError" and under and error.frames[-1].code.startswith("assert")


def _cycle(frames: tuple[str, ...]) -> tuple[str, ...]:
    """The frames that go round in a recursion, in a fixed order: at which of them the limit is met is chance."""
    counts = Counter(frames)
    often = max(counts.values(), default=0) / 2
    return tuple(sorted(name for name, count in counts.items() if count > 1 and count >= often)) or frames


def _telling_frames(frames: tuple[Frame, ...]) -> list[str]:
    named: list[str] = []
    fallback: list[str] = []
    for frame in reversed(frames):
        inside = torch_frame(frame)
        if inside is None:
            continue
        path = inside.rsplit(":", 1)[0]
        (fallback if _UNTELLING.search(path) else named).append(inside)
    return named or fallback
