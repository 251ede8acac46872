"""Whose code raised it? Read from the frames of a traceback: which line is not torch's, and which part of torch called it.

Pure functions. A block of lines that are not torch's is known by the frame of torch that stands right above it: what a
lowering is called by calls nothing else. A block that no such part called (the program itself, a graph break) has no role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from triage.culprit.settings import GRAPH_PASSES
from triage.judge.signature import RAISES, is_generated, is_standard_library, torch_frame
from triage.judge.skeleton import short_type, unwrap_text
from triage.judge.stacks import crashed_thread, program_thread
from triage.model.outcome import CompileCall, Frame, Outcome, RaisedException
from triage.model.own_code import OF_OPERATORS, SIGNAL_HANDLER, WHILE_COMPILING, OwnCode
from triage.model.places import package_of
from triage.model.stage import OutcomeKind, Stage
from triage.model.text import clip, first_line

# The frame of torch above a line that is not torch's, and what that line is then. Source: torch 2.13's own files.
_ROLES: tuple[tuple[str, str], ...] = (
    (r"torch/_inductor/(?:lowering\.py:|graph\.py:|select_algorithm\.py:)", "lowering"),
    # What a lowering gave back (the body of a loop) is asked later, by the intermediate representation and code generation.
    (r"torch/_inductor/(?:(?:ir|loop_body|dependencies|ops_handler|virtualized|index_propagation)\.py:|codegen/)", "lowering"),
    (r"torch/_inductor/(?:fx_passes/|custom_graph_pass\.py:|pattern_matcher\.py:|compile_fx\.py:\w*passes)", "graph pass"),
    (r"torch/fx/passes/graph_transform_observer\.py:", "graph pass"),
    (r"proxy_tensor\.py:(?:maybe_handle_decomp|proxy_call)|torch/_decomp/|torch/_inductor/decomposition\.py:"
     r"|torch/_prims_common/wrappers\.py:|torch/_subclasses/fake_tensor\.py:(?:_dispatch_impl|dispatch)$", "decomposition"),
    (r"torch/_library/(?:utils|fake_impl)\.py:|torch/library\.py:|torch/_library/custom_ops\.py:fake_impl", "fake kernel"),
    (r"torch/_library/custom_ops\.py:", "kernel"),
    (r"torch/_library/autograd\.py:backward", "backward"),
    (r"torch/_library/autograd\.py:", "setup_context"),
    (r"torch/autograd/function\.py:|torch/_functorch/autograd_function\.py:", "autograd.Function"),
    (r"torch/_dynamo/(?:output_graph\.py:|repro/|backends/)|torch/__init__\.py:__call__", "backend"),
    # Not all of its package: torch.vmap and torch.func stand there too, and call the program.
    (r"torch/_functorch/(?:_aot_autograd/|(?:aot_autograd|partitioners|compilers)\.py:)|torch/_inductor/compile_fx\.py:",
     "backend"),
    (r"torch/fx/interpreter\.py:", "graph function"),
)  # fmt: skip
# They stand between a caller and what it calls, whoever both are.
_WRAPPERS = re.compile(r"torch/(?:_dynamo/eval_frame\.py:_fn|_compile\.py:|utils/_contextlib\.py:|utils/_stats\.py:)")
_IN_GRAPH = ("autograd.Function", "tensor subclass", "graph function")
_DISPATCHER = re.compile(r"torch/_ops\.py:")
_FAKE = re.compile(r"torch/(?:_subclasses/|_dynamo/)")
_OF_SUBCLASSES = re.compile(r"__(?:torch|tensor|coerce)_\w+__$")
# What torch itself requires (`Requires-Dist` of its wheel, and what those require) raises for whoever called it, as Python's own
# library does: a comparison of sizes that sympy refuses inside a lowering of torch is no lowering of sympy.
_OF_TORCH_TOO = ("sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "filelock", "typing_extensions")
# What torch's C++ raises has no frame of its own: it seems to come from the line that called it.
_FROM_CPP = ("RuntimeError", "NotImplementedError", "IndexError", "OutOfMemoryError")
_OPERATOR = re.compile(
    r"(?:^\s*target: |call_function\[target=(?:torch\.ops\.)?|\bcall_function )(?!torch\.)([a-z_]\w*\.\w+)",
    re.MULTILINE,
)


def own_code_of(error: RaisedException | None, stage: Stage) -> OwnCode | None:
    """The innermost line under the compiler that is not torch's and has a role there; None where there is none."""
    if error is None or not stage.needs_compiling:
        return None
    inner = error.innermost()
    for raised in filter(None, (inner.cause, inner, error)):
        handling = _handling(raised.frames)
        if handling is not None:
            return _own_code(SIGNAL_HANDLER, raised, handling, error)
        for start, end in _blocks(raised.frames):
            role = _role_of(raised.frames, start) or _compiled_by_own(error, stage, start)
            if role is not None:
                return _own_code(role, raised, end, error)
    return None


def own_code_that_died(
    outcome: Outcome, stage: Stage, code: Callable[[Frame], str] = lambda frame: ""
) -> OwnCode | None:
    """The same for a process that a signal ended, where the line it was in is not torch's: what it called has no lines.

    Its stack has places alone: `code` gives what stands there.

    A kernel of torch's leaves none either. So what stands in the graph (an `autograd.Function`, a tensor subclass) is not
    looked at: it calls torch's kernels, and a line that does is no more to blame than the kernel.
    """
    if outcome.kind is not OutcomeKind.CRASH or not stage.needs_compiling:
        return None
    signal = outcome.signal or "a signal"
    frames = tuple(replace(frame, code=code(frame)) for frame in crashed_thread(outcome.stacks))
    died = RaisedException(signal, "", frames, in_graph=True)
    own = own_code_of(died, stage)
    return replace(own, died=True) if own is not None and own.raised and own.role not in _IN_GRAPH else None


def own_code_that_hung(
    outcome: Outcome, stage: Stage, code: Callable[[Frame], str] = lambda frame: ""
) -> OwnCode | None:
    """The same for a process that was in that line when its time was up. A backend's whole work is its own: `own_backend_of`."""
    if outcome.kind is not OutcomeKind.HANG or stage is Stage.BACKEND:
        return None
    frames = tuple(replace(frame, code=code(frame)) for frame in program_thread(outcome.stacks))
    own = own_code_of(RaisedException("", "", frames, in_graph=True), stage)
    return replace(own, hung=True) if own is not None and own.raised and own.role in WHILE_COMPILING else None


def own_backend_of(calls: Sequence[CompileCall]) -> OwnCode | None:
    """The backend that the program brings, where that is the stage: with it alone the program fails. None where torch has it.

    Nothing else tells whose a wrong result or a hang is. Where the program has several backends, any may be the one.
    """
    places = list(dict.fromkeys(call.backend_at for call in calls if call.backend_at is not None))
    if not places:
        return None
    return OwnCode(
        role="backend",
        place=" or ".join(_place(frame) for frame in places),
        line=" or ".join(frame.told for frame in places),
        raised=False,
        library=package_of(places[0].file) if len({package_of(frame.file) for frame in places}) == 1 else None,
        needed=True,
    )


def raised_in(error: RaisedException | None, own: OwnCode | None) -> str | None:
    """Whose the innermost line is: `torch`, `user`, `backend`, `custom_op`; None where no line is known."""
    line = raising_line(error)
    if line is None:
        return None
    if _is_torchs(line):
        return "torch"
    if own is None or own.needed or own.role not in (*OF_OPERATORS[2:], "backend"):
        return "user"
    return "backend" if own.role == "backend" else "custom_op"


def raising_line(error: RaisedException | None) -> Frame | None:
    """The innermost line, but for what raises for whoever called it."""
    if error is None:
        return None
    frames = (error.innermost().cause or error.innermost()).frames or error.frames
    return next((frame for frame in reversed(frames) if not _is_any_callers(frame)), None)


def _blocks(frames: Sequence[Frame]) -> Iterator[tuple[int, int]]:
    """(first, last) of each run of lines that are not torch's, innermost first. Wrappers of torch's do not end one."""
    end = None
    start = 0
    for index in range(len(frames) - 1, -1, -1):
        frame = frames[index]
        if not _is_torchs(frame):
            if not _is_any_callers(frame):
                start = index
                end = index if end is None else end
        elif end is not None and not _WRAPPERS.match(torch_frame(frame) or ""):
            yield start, end
            end = None
    # What is left was called by nobody of torch's: the program.


def _handling(frames: Sequence[Frame]) -> int | None:
    """The innermost line that is not torch's of a function that a signal called; None where none did."""
    handler = next((index for index, frame in enumerate(frames) if frame.handler), len(frames))
    own = [
        index
        for index in range(handler, len(frames))
        if not _is_torchs(frames[index]) and not _is_any_callers(frames[index])
    ]
    return own[-1] if own else None


def _role_of(frames: Sequence[Frame], start: int) -> str | None:
    """What the block that starts there is to the compiler."""
    if _OF_SUBCLASSES.fullmatch(frames[start].function):
        return "tensor subclass"
    above = [torch_frame(frame) or "<generated>" for frame in reversed(frames[:start]) if _is_torchs(frame)]
    above = [name for name in above if not _WRAPPERS.match(name)]
    if not above:
        return None
    if _DISPATCHER.match(above[0]):
        callers = [name for name in above if not _DISPATCHER.match(name)]
        return "fake kernel" if callers and _FAKE.match(callers[0]) else "kernel"
    role = next((name for pattern, name in _ROLES if re.search(pattern, above[0])), None)
    return _which_pass(above) if role == "graph pass" else role


def _which_pass(above: Sequence[str]) -> str:
    functions = [name.rsplit(":", 1)[-1] for name in above]
    found = next((known for name in functions for known in GRAPH_PASSES if name.endswith(known)), None)
    if found is None:
        return "graph pass"
    return {"pre": "pre-grad pass", "joint": "joint-graph pass", "post": "post-grad pass"}[found.split("_")[0]]


def _compiled_by_own(error: RaisedException, stage: Stage, start: int) -> str | None:
    """What a backend of the program's own gave back, running: called by the compiled function like any other."""
    return "backend" if stage is Stage.BACKEND and error.in_graph and start > 0 else None


def _own_code(role: str, raised: RaisedException, end: int, error: RaisedException) -> OwnCode:
    frame = raised.frames[end]
    site = _call_site(error, frame)
    return OwnCode(
        role=role,
        place=_place(frame),
        line=frame.told,
        raised=_is_its_own(raised, end),
        error=_error(raised),
        operator=_operator(error) if role in OF_OPERATORS else None,
        library=package_of(frame.file),
        call_site=site.told if site is not None else None,
    )


def _place(frame: Frame) -> str:
    return f"{PurePath(frame.file).name}:{frame.line}"


def _error(raised: RaisedException) -> str:
    kind, message = unwrap_text(raised.type, raised.message)
    return f"{short_type(kind)}: {clip(first_line(message), 160)}".rstrip(": ")


def _is_its_own(raised: RaisedException, end: int) -> bool:
    """Whether the line itself raised: nothing of torch's stands below it, and it says so or C++ would not."""
    if any(_is_torchs(frame) for frame in raised.frames[end + 1 :]):
        return False
    if end + 1 < len(raised.frames) or RAISES.match(raised.frames[end].code):
        return True
    kind, _ = unwrap_text(raised.type, raised.message)
    return not kind.startswith("torch.") and short_type(kind) not in _FROM_CPP


def _operator(error: RaisedException) -> str | None:
    """`detect::keep`, where the compiler says on which operator it worked."""
    for level in (error, error.innermost()):
        found = _OPERATOR.search(level.message)
        if found:
            return found.group(1).replace(".", "::", 1)
    return None


def _call_site(error: RaisedException, own: Frame) -> Frame | None:
    """The user's line that compiled code stood for, or from which it was called."""
    for level in (error, error.innermost()):
        named = [frame for frame in level.user_code if not _is_torchs(frame)]
        if named and (named[-1].file, named[-1].line) != (own.file, own.line):
            return named[-1]
    before: Frame | None = None
    for frame in error.frames:
        if (torch_frame(frame) or "").startswith("torch/_dynamo/") or (frame.file, frame.line) == (own.file, own.line):
            break
        if not _is_torchs(frame) and not _is_any_callers(frame):
            before = frame
    return before


def _is_any_callers(frame: Frame) -> bool:
    """Whether the line is of a library that torch and the program both call: it tells nothing about who is to blame."""
    return is_standard_library(frame) or package_of(frame.file) in _OF_TORCH_TOO


def _is_torchs(frame: Frame) -> bool:
    return torch_frame(frame) is not None or is_generated(frame)
