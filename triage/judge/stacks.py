"""Python stacks as faulthandler writes them, of a process that crashed or was about to be ended."""

from __future__ import annotations

import re

from triage.judge.signature import is_agent_frame, is_user_frame
from triage.model.outcome import Frame

_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$')
_COMPILER = re.compile(r"/torch/(?:_dynamo|_functorch|_inductor)/")
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
