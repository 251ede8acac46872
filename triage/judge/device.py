"""What a GPU and its compilers say: errors of CUDA and HIP, of Triton, of ptxas. Pure functions over text.

A kernel runs while the program goes on, so what goes wrong in it is told by whatever call waits for the device next: of such an
error neither the line nor the frames tell anything, nor whether CUDA, the driver or Triton's launcher has the word. What failed
in it stands in the output alone. Formats: c10/cuda/CUDAException.cpp, triton/compiler/errors.py, triton/runtime/errors.py,
triton/backends/nvidia/compiler.py, torch/_inductor/runtime/triton_heuristics.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.model.outcome import RaisedException

# `cudaGetErrorString` of the errors that a kernel ends with; a process can do nothing on the device after one of them.
_IN_A_KERNEL = (
    r"(?:device-side assert triggered|an illegal memory access was encountered|misaligned address|"
    r"an illegal instruction was encountered|invalid program counter|unspecified launch failure|hardware stack error|"
    r"operation not supported on global/shared address space|the launch timed out and was terminated)"
)
_SPEAKER = r"(?:(?:CUDA|HIP)(?: driver)? error|Triton Error \[(?:CUDA|HIP)\])"
_ASYNCHRONOUS = re.compile(rf"\s*{_SPEAKER}: {_IN_A_KERNEL}")
WHOEVER_SAYS_IT = re.compile(rf"\A{_SPEAKER}: (?={_IN_A_KERNEL})")

# Triton's own, about the text of a kernel: it comes with up to twelve lines of that text and a caret, and perhaps a reason.
_OF_KERNEL_TEXT = ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct")
_CARET = re.compile(r"^[ \t]*\^[ \t]*$", re.MULTILINE)
_PLACE = re.compile(r"\Aat \d+:\d+:\s*(?:<source \w+>)?")
_BUILT_FOR_GPU = re.compile(r"\btriton|_cuda|cudagraph")
_CUDA_GRAPHS = re.compile(r"\Atorch/(?:_inductor/cudagraph_trees|cuda/graphs)\.py:")
_PTXAS = re.compile(r"^ptxas\S* (?:.*?, line \d+; )?(?:error|fatal) *: *(.+)", re.MULTILINE)
_NO_CONFIG = re.compile(r"\A\s*No valid triton configs\. (?P<type>\w+): (?P<rest>.*)\Z", re.DOTALL)

_ASSERTION = re.compile(r"block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] (Assertion .*)")
_OF_MLIR = re.compile(r"\S:\d+:\d+: (error: .+)")  # as LLVM heads it: file, line, column
_OF_CC = re.compile(r"\S:\d+:\d+: (fatal error: .+)|(cannot find -l\w+)")  # of the C that launches a kernel
_TOLD_ELSEWHERE = (
    ("device-side assert triggered", _ASSERTION),
    ("PassManager::run failed", _OF_MLIR),
    ("main.c', '-O3', '-shared'", _OF_CC),
)


def is_asynchronous(message: str) -> bool:
    """Whether an error comes of a kernel that was launched at some time before: where it is raised is chance."""
    return _ASYNCHRONOUS.match(message) is not None


def is_gpus_own(name: str, message: str, frames: Sequence[str]) -> bool:
    """Whether an error of this type, message and torch frames can come of a GPU's kernel or its compiler alone."""
    own = is_of_kernel_text(name) or name in ("OutOfResources", "PTXASError")
    return own or is_asynchronous(message) or any(_BUILT_FOR_GPU.search(frame) for frame in frames)


def compiled_calls(frames: Sequence[str]) -> int:
    """How often a compiled function is called until it fails in these torch frames.

    CUDA graphs run a first call as it is, record a second, and play that again from the third on
    (torch/_inductor/cudagraph_trees.py).
    """
    return 3 if any(_CUDA_GRAPHS.match(frame) for frame in frames) else 1


def is_of_kernel_text(name: str) -> bool:
    """Whether this short name of an exception is that of Triton's errors about the text of a kernel."""
    return name in _OF_KERNEL_TEXT


def reason_of(message: str) -> str:
    r"""What Triton has against a kernel, without the kernel; empty where it only says which call it came up in.

    >>> reason_of("at 5:11:\n    x0 = xindex\n    tmp1 = foo(x0)\n           ^\nNameError('foo is not defined')")
    "NameError('foo is not defined')"
    """
    return _split(message)[1]


def reason_or_line(message: str) -> str:
    """The reason, else the line of the kernel that is pointed at."""
    code, reason = _split(message)
    return reason or f"in the line: {code}".rstrip(": ")


def _split(message: str) -> tuple[str, str]:
    """The line that is pointed at, and the reason."""
    carets = list(_CARET.finditer(message))
    if not carets:
        return "", _PLACE.sub("", message).strip()
    lines = message[: carets[-1].start()].rstrip().splitlines()
    return (lines[-1].strip() if lines else ""), message[carets[-1].end() :].strip()


def ptxas_error(message: str) -> str:
    """The first thing that ptxas refuses; empty where it gives none."""
    found = _PTXAS.search(message)
    return f"PTXAS error: {found.group(1).strip()}" if found is not None else ""


def of_last_config(message: str) -> tuple[str, str] | None:
    """(type, message) of what the last way to build a kernel failed with, where Inductor has tried them all."""
    found = _NO_CONFIG.match(message)
    if found is None:
        return None
    # Inductor's own launcher says for want of shared memory what Triton has a type for.
    small = found["type"] == "OutOfMemoryError" and found["rest"].startswith("out of resource")
    return ("OutOfResources" if small else found["type"]), found["rest"]


def with_words_of_output(error: RaisedException, output: str) -> RaisedException:
    """The error with what the device, or Triton's compiler, printed about it, as the second line of its message."""
    if error.inner is not None:
        inner = with_words_of_output(error.inner, output)
        return error if inner is error.inner else replace(error, inner=inner)
    first, end, rest = error.message.partition("\n")
    pattern = next((pattern for said, pattern in _TOLD_ELSEWHERE if said in first), None)
    found = pattern.search(output) if pattern is not None else None
    if found is None:
        return error
    said = next(filter(None, found.groups())).strip()
    return replace(error, message=f"{first}\n{said}{end}{rest}")
