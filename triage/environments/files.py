"""Small things about files: whole writes, sizes, locks that die with their process, and the journal of a run as it is read."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

JOURNAL = "journal.jsonl"  # of a run directory; `session/events.py` writes it
_KIND = re.compile(r'"kind": "(\w+)"')

if sys.platform == "win32":

    def lock(file: IO[str], *, exclusive: bool) -> None:
        """Windows refuses to delete or rename what a process has open, which serves the same end."""

    def own(path: Path) -> int | None:
        """None: what is open could not be removed."""
        return None

    def owned(path: Path) -> bool | None:
        """None: nobody owns a file."""
        return None

else:
    import fcntl

    def lock(file: IO[str], *, exclusive: bool) -> None:
        """Lock an open file, shared or alone, until it is closed. Raises OSError where somebody else has it."""
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)

    def own(path: Path) -> int | None:
        """Lock an existing file for as long as the descriptor is open; None where it cannot be locked. Several may own it."""
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return None
        return file

    def owned(path: Path) -> bool | None:
        """Whether a living process owns the file; None where this file system does not tell."""
        try:
            with path.open("r+", encoding="utf-8") as file:
                lock(file, exclusive=True)
        except BlockingIOError:
            return True
        except OSError:
            return None
        return False


def check_writable(path: Path) -> None:
    """Raises OSError where no file can be made in this directory."""
    with tempfile.TemporaryFile(dir=path):
        pass


def tree_bytes(root: Path) -> int:
    """Bytes on disk below `root`, a file with several names counted once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for directory, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(OSError):
                facts = os.lstat(os.path.join(directory, name))  # noqa: PTH118  tens of thousands of files
                if (facts.st_dev, facts.st_ino) not in seen:
                    seen.add((facts.st_dev, facts.st_ino))
                    total += getattr(facts, "st_blocks", facts.st_size // 512) * 512
    return total


def write_whole(path: Path, text: str) -> None:
    """All of the text or what was there before, whatever happens on the way. Raises OSError."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_journal(run: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    """The entries of a run's journal, of these kinds alone where some are named. What cannot be read is left out.

    The last line of a run that goes on may be torn.
    """
    with contextlib.suppress(OSError), (run / JOURNAL).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            kind = _KIND.search(line, 0, 200)  # most lines are long, and of another kind
            if not kinds or (kind is not None and kind[1] in kinds):
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict):
                    yield entry
