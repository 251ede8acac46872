"""The failure signature: what makes two failures "the same".

A signature is made of the exception's type at the bottom of torch's wrappers, the *skeleton* of its message (shapes,
line numbers, addresses, temporary paths, generated symbol and kernel names, compiler command lines normalised away), and
the innermost frames inside torch. A crash has its signal and the telling line of stderr in their place; a hang has its
phase. Two failures are the same when type, skeleton and innermost torch frame agree; message text alone is never enough,
and "any exception" never is.

The rules are versioned (`SIGNATURE_VERSION` is hashed into the fingerprint), so stored fingerprints never silently
change their meaning.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind

SIGNATURE_VERSION = 1

# Wrappers whose own type says nothing; the exception they carry is the failure. Their text carries it on a later line:
#   BackendCompilerFailed: backend='inductor' raised:\nTypeError: ...        (torch/_dynamo/exc.py)
#   InductorError: LoweringException: TypeError: ...\n  target: aten.x        (torch/_inductor/exc.py)
_WRAPPER_TYPES = frozenset(
    {"BackendCompilerFailed", "InductorError", "LoweringException", "SubprocException", "InternalTorchDynamoError"}
)
_WRAPPED_TEXT = re.compile(
    r"\A(?:backend='[^']*' raised:\s*)?(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Failed|Interrupt|Exit|Warning|Unsupported"
    r"|Iteration|Hit|Exceeded|NotImplemented\w*)): *(?P<rest>.*)\Z",
    re.DOTALL,
)
_WRAPPED_BARE = re.compile(r"\A(?:backend='[^']*' raised:\s*)?(?P<type>[A-Za-z_]\w*(?:Error|Exception)):?\s*\Z")

# One failure, renamed by a later torch. Source: shared facts measured on 2.1 to 2.15.
_RENAMED_TYPES = {
    "CacheLimitExceeded": "RecompileLimitExceeded",
    "FailOnRecompileLimitHit": "RecompileLimitExceeded",
}

# Everything from these lines on is advice or context, not the failure.
_TAIL_MARKS = (
    "\nfrom user code:",
    "\nSet TORCHDYNAMO_VERBOSE",
    "\nSet TORCH_LOGS",
    "\nYou can suppress this exception",
    "\n  Developer debug context:",
    "\n For more details about this graph break",
    "\n  Hint:",
    "\nWhile executing %",
    "\nOriginal traceback:",
    "\nGraphModule:",
    "\nException raised from ",
    "\nThe above exception was",
    "\n  target: ",
    "\n  args[0]: ",
    "\nFound from",
    "\nCommand:",
)

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\[rank\d+\]:\s?"), ""),
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"0x[0-9a-fA-F]+"), "<addr>"),
    (re.compile(r"(?:/[\w.@+~-]+){2,}/?"), "<path>"),
    (re.compile(r"\b[A-Za-z]:\\[\w\\.-]+"), "<path>"),
    (re.compile(r"\b[\w.-]+\.(?:py|cpp|cc|h|so|csv|pt)\b(?::\d+)*"), "<file>"),
    (re.compile(r"\bc[a-z0-9]{40,}\b"), "<hash>"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "<hash>"),
    (re.compile(r"\b(?:cpp|triton)_(?:fused|poi|per|red)\w*"), "<kernel>"),
    (
        re.compile(
            r"\b(?:buf|tmp|primals_|tangents_|arg|getitem_?|view_?|add_?|mul_?|sum_?|fwd_|s|u|i|x|ks|op|zuf|p)_?\d+(?:_\d+)*\b"
        ),
        "<sym>",
    ),
    (re.compile(r"%\w+"), "%<sym>"),
    (re.compile(r"\b[A-Za-z_]*\d+__[a-z_]*\b"), "<sym>"),
    (re.compile(r"[-+]?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[LlfU]?\b"), "N"),
    (re.compile(r"(?:torch\.)?Size\(\[[^\]]*\]\)"), "<size>"),
    (re.compile(r"([\[(])(?:\s*(?:N|<sym>)\s*,?\s*)+([\])])"), r"\1N\2"),
    (re.compile(r"(?:N, )+N\b"), "N"),
    (re.compile(r"(?:expected size N==N, stride N==N at dim=N(?:; )?)+"), "expected size N==N, stride N==N"),
    (re.compile(r"[ \t]+"), " "),
)

_TORCH_FILE = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|lib/python[\d.]+)/?(?:.*/)?(torch|functorch|torchgen)/(.*)$"
)
# Frames that every failure of a kind shares; naming one as innermost would make different failures look alike.
_UNTELLING = re.compile(
    r"(?:^|/)torch/(?:_ops\.py|_dynamo/exc\.py|_dynamo/eval_frame\.py|_dynamo/external_utils\.py|nn/modules/module\.py|utils/_contextlib\.py"
    r"|utils/_traceback\.py|_tensor\.py|autograd/__init__\.py|autograd/graph\.py|_utils_internal\.py|_compile\.py)$"
)
_GENERATED_FILE = re.compile(r"/torchinductor_[^/]*/|/inductor-cache/|/cache/\w\w/c[a-z0-9]{20,}\.py$|^<eval_with_key>")
_CPP_ERROR = re.compile(r"(?:main|kernel|\w+)\.(?:cpp|h|cc):\d+:(?:\d+:)? (?:fatal )?error: (.*)")
_ABORT_LINE = re.compile(r"what\(\):\s*(.*)")


@dataclass(frozen=True)
class FailureSignature:
    """What identifies a failure. `frames` are innermost first, as `torch/_inductor/ir.py:realize`."""

    kind: OutcomeKind
    exception_type: str
    skeleton: str
    frames: tuple[str, ...] = ()
    message: str = ""  # the telling lines as they were printed
    user_frame: str | None = None  # file:function of the innermost frame outside torch; shown, not compared
    wrapper: str | None = None  # outermost type, as the user saw it
    version: int = SIGNATURE_VERSION

    @property
    def fingerprint(self) -> str:
        """16 hex digits: stable over runs, machines, shapes and paths."""
        parts = (str(self.version), self.kind.value, self.exception_type, self.skeleton, self.innermost_frame)
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]

    @property
    def innermost_frame(self) -> str:
        return self.frames[0] if self.frames else ""


def same_failure(left: FailureSignature, right: FailureSignature) -> bool:
    """Type, message skeleton and innermost torch frame agree (the signal and telling line, for a crash)."""
    if left.kind is not right.kind or left.exception_type != right.exception_type:
        return False
    if left.skeleton != right.skeleton:
        return False
    if not left.frames or not right.frames:
        return not left.frames and not right.frames
    return left.frames[0] == right.frames[0]


def same_face(left: FailureSignature, right: FailureSignature) -> bool:
    """The failure looks the same to a reader: as `same_failure`, without the frame. For showing, never for reducing."""
    return (left.kind, left.exception_type, left.skeleton) == (right.kind, right.exception_type, right.skeleton)


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
        return FailureSignature(
            outcome.kind, outcome.signal or f"exit {outcome.exit_code}", skeleton(telling), message=telling
        )
    return FailureSignature(outcome.kind, outcome.kind.value, skeleton(outcome.detail), message=outcome.detail)


def skeleton(message: str) -> str:
    """The message with everything that varies between two runs of one failure replaced by placeholders."""
    text = message
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.strip()[:400]


def unwrap_text(type_name: str, message: str) -> tuple[str, str]:
    """(type, message) at the bottom of torch's wrappers, from the text alone."""
    for _ in range(6):
        if short_type(type_name) not in _WRAPPER_TYPES:
            break
        found = _WRAPPED_TEXT.match(message.lstrip())
        if found is None:
            bare = _WRAPPED_BARE.match(message.strip().split("\n", 1)[0] if message.strip() else "")
            if bare is not None:
                return bare.group("type"), ""
            break
        type_name, message = found.group("type"), found.group("rest")
    return type_name, message


def short_type(type_name: str) -> str:
    """The class name without its module, after renames between torch releases."""
    name = type_name.rsplit(".", 1)[-1]
    return _RENAMED_TYPES.get(name, name)


def telling_lines(type_name: str, message: str) -> str:
    """The part of a message that says what happened: no advice, no compiler command line, no dump of a graph."""
    name = short_type(type_name)
    if name in ("CppCompileError", "CppWrapperCodegenError", "CalledProcessError"):
        found = _CPP_ERROR.search(message)
        if found is not None:
            return f"C++ compile error: {found.group(1).strip()}"
    text = message.lstrip()
    for mark in _TAIL_MARKS:
        place = text.find(mark)
        if place > 0:
            text = text[:place]
    return text.strip()


def torch_frame(frame: Frame) -> str | None:
    """`torch/_inductor/ir.py:realize` for a frame inside torch, None for one outside it."""
    found = _TORCH_FILE.search(frame.file.replace("\\", "/"))
    return f"{found.group(1)}/{found.group(2)}:{frame.function}" if found else None


def is_user_frame(frame: Frame) -> bool:
    """Whether a person wrote this line as part of the program: not torch, not the standard library, not generated."""
    name = frame.file.replace("\\", "/")
    if not name or name.startswith("<") or _GENERATED_FILE.search(name):
        return False
    if re.search(r"/(?:site|dist)-packages/|/lib/python3(?:\.\d+)?/|/triage/agent/", name):
        return False
    return "/_triage_" not in name


def user_frame(exception: RaisedException) -> Frame | None:
    """The innermost line of the user's program: from Dynamo's own word where it gives one, else from the traceback."""
    for raised in (exception, exception.innermost()):
        if raised.user_code:
            return raised.user_code[-1]
    for raised in (exception.innermost(), exception):
        for frame in reversed(raised.frames):
            if is_user_frame(frame):
                return frame
    return None


def _of_exception(kind: OutcomeKind, exception: RaisedException) -> FailureSignature:
    inner = exception.innermost()
    type_name, message = unwrap_text(inner.type, inner.message)
    telling = telling_lines(type_name, message)
    frames = tuple(_telling_frames(inner.frames) or _telling_frames(exception.frames))
    user = user_frame(exception)
    # A check in the user's own code is known by its place, not by numbers in its text.
    return FailureSignature(
        kind=kind,
        exception_type=short_type(type_name),
        skeleton=skeleton(telling.split("\n\n", 1)[0]),
        frames=frames[:3],
        message=telling[:4000],
        user_frame=f"{user.file.rsplit('/', 1)[-1]}:{user.function}" if user else None,
        wrapper=short_type(exception.type),
    )


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
