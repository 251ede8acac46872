"""What triage is given on its standard input belongs to the program: it is read once, kept, and given to every probe.

A terminal is left alone, and a program that reads from one gets an empty input: nobody could type the same again for each
probe. From a pipe on which nothing comes nothing is waited for: it may be one that a caller merely left open.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

from triage.errors import UsageError

NAME = "stdin.data"
LIMIT = 64 << 20  # bytes; each probe reads them again
FIRST_SECONDS = 1.0  # for the first byte of a pipe
PAUSE_SECONDS = 60.0  # between two pieces of it
PIECE = 1 << 20


def take(directory: Path, source: int = 0, limit: int = LIMIT) -> Path | None:
    """Read what stands on this descriptor into `directory`; None where it is empty, a terminal, or no file at all.

    Raises UsageError where it cannot be replayed: longer than `limit` bytes, or a pipe that neither ends nor goes on.
    """
    if not _replayable(source):
        return None
    kept = directory / NAME
    size = 0
    with kept.open("wb") as file:
        while _comes(source, PAUSE_SECONDS if size else FIRST_SECONDS, size):
            piece = os.read(source, PIECE)
            if not piece:
                break
            size += file.write(piece)
            if size > limit:
                raise _refusal(f"It is longer than {limit >> 20} MiB, and every probe needs it again.")
    if size:
        return kept
    kept.unlink()
    return None


def kept_in(directory: Path) -> Path | None:
    """What an earlier run kept there."""
    kept = directory / NAME
    return kept if kept.is_file() else None


def _replayable(source: int) -> bool:
    try:
        mode = os.fstat(source).st_mode
    except OSError:  # closed
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _comes(source: int, seconds: float, size: int) -> bool:
    """Whether there is something to read, or the end. Raises UsageError where a pipe stopped in the middle."""
    if sys.platform == "win32":  # only sockets can be waited for
        return True
    ready, _, _ = select.select([source], [], [], seconds)
    if not ready and size:
        raise _refusal(f"Nothing more came for {seconds:.0f} s, and it did not end.")
    return bool(ready)


def _refusal(why: str) -> UsageError:
    return UsageError(
        what="The standard input cannot be given to every probe.",
        why=why,
        next="Give the script a shorter one from a file: triage run train.py < sample.txt",
    )
