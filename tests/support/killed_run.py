"""A run of triage that is killed while its candidate sleeps: nothing of it may be left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

NOTES_AND_SLEEPS = "open('pids', 'w').write(f'{os.getpid()} {os.getppid()}')\ntime.sleep(600)\n"


def kill_and_see_nothing_left(program: str, candidate: str, env: Mapping[str, str], temporary: Path) -> None:
    """Start `program` with this candidate, which says its process and its parent's; kill it; wait until both have ended and
    the directory that it has for temporary files is empty.
    """
    orchestrator = subprocess.Popen([sys.executable, "-c", program, candidate], env=env)
    try:
        until(lambda: any(note.read_text().count(" ") == 1 for note in temporary.rglob("pids")), 90.0)
        pids = [int(word) for word in next(temporary.rglob("pids")).read_text().split()]
    finally:
        orchestrator.kill()
        orchestrator.wait()
    until(lambda: not any(alive(pid) for pid in pids), 15.0)
    until(lambda: not list(temporary.iterdir()), 15.0)


def until(condition: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not come true"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
