"""Python stacks as faulthandler writes them, of a process that crashed or was about to be ended."""

from __future__ import annotations

import re

from triage.model.outcome import Frame

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+),? in (?P<function>.+)$')
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)


def threads_of(stacks: str) -> list[tuple[Frame, ...]]:
    """The frames of each thread, outermost first, in the order in which the threads were written: the main one last."""
    return [found for part in _THREAD.split(stacks)[1:] if (found := _frames(part))]


def _frames(part: str) -> tuple[Frame, ...]:
    found = [_FRAME.match(line) for line in part.splitlines()]
    return tuple(Frame(m["file"], int(m["line"]), m["function"]) for m in reversed(found) if m)
