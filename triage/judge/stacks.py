"""Python stacks as faulthandler writes them, of a process that crashed or was about to be ended."""

from __future__ import annotations

import re

from triage.judge.signature import is_agent_frame, is_user_frame
from triage.model.outcome import Frame, Outcome

_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$')
_COMPILER = re.compile(r"/torch/(?:_dynamo|_functorch|_inductor)/")
# Where a compile is, the innermost part first; and the words for what builds kernels, in a process of ours that tells it.
_PARTS = (
    ("building kernels", re.compile(r"/torch/_inductor/(?:cpp_builder|async_compile)\.py$")),
    ("Inductor", re.compile(r"/torch/_inductor/")),
    ("AOTAutograd", re.compile(r"/torch/_functorch/")),
)
_BUILDS = "build of the "
_COMPILES = re.compile(r"(?:inductor compiles|(?:lowering|scheduling|codegen|build) of the|compile graph) ")
_HEADER = "most recent call first"
_CRASHED = "Current thread "  # the one that a fatal signal came to


def threads_of(stacks: str) -> list[tuple[Frame, ...]]:
    """The frames of each thread, outermost first, in the order in which the threads were written: the main one last."""
    threads: list[list[Frame]] = [[]]
    for line in stacks.splitlines():
        found = _FRAME.match(line)
        if found is not None:
            threads[-1].append(Frame(found["file"], int(found["line"]), found["function"]))
        elif _HEADER in line:
            threads.append([])
    return [tuple(reversed(thread)) for thread in threads if thread]


def crashed_thread(stacks: str) -> tuple[Frame, ...]:
    """The frames of the thread that a fatal signal came to, outermost first, without those of triage's agent."""
    _, crashed, rest = stacks.rpartition(_CRASHED)
    threads = threads_of(crashed + rest) if crashed else []
    return tuple(frame for frame in (threads or [()])[0] if not is_agent_frame(frame))


def program_thread(stacks: str) -> tuple[Frame, ...]:
    """The frames of the thread that was in the program, outermost first, without those of triage's agent; of several the last.

    One that was in the compiler goes first: the others may wait for it (a process for its workers).
    """
    threads = [tuple(frame for frame in thread if not is_agent_frame(frame)) for thread in threads_of(stacks)]
    found = [thread for thread in reversed(threads) if any(map(is_user_frame, thread))]
    within = (thread for thread in found if any(_COMPILER.search(frame.file) for frame in thread))
    return next(within, found[0] if found else ())


def part_of_hang(outcome: Outcome) -> str:
    """In which part of the compiler a compile hangs; empty of what is no compile, and where that is not known."""
    if not _COMPILES.match(outcome.detail):
        return ""
    if outcome.detail.startswith(_BUILDS):
        return _PARTS[0][0]
    files = [frame.file.replace("\\", "/") for frame in program_thread(outcome.stacks)]
    return next((name for name, pattern in _PARTS if any(map(pattern.search, files))), "")
