"""What this machine gives: cores, memory, and where things are kept between runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_UNKNOWN = 24 << 30
BYTES_PER_RUN = 3 << 30  # of a program under torch.compile


def usable_cores() -> int:
    """Cores this process may use: its affinity, and the quota of its container (cgroup v2)."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = (_CGROUP / "cpu.max").read_text().split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    return max(1, cores)


def available_bytes() -> int:
    """Memory that can be had without swapping: of the machine, or what the container has left."""
    found = [_MEMORY_UNKNOWN]
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10]
    with contextlib.suppress(OSError, ValueError):
        limit = int((_CGROUP / "memory.max").read_text())
        found.append(max(0, limit - int((_CGROUP / "memory.current").read_text())))
    return min(found)


def runs_that_fit() -> int:
    """How many runs of a program the memory has room for, side by side."""
    return available_bytes() // BYTES_PER_RUN


def kept_in(name: str) -> Path:
    """Where the system keeps a program's caches: `~/.cache/triage/NAME` on Linux, or below `XDG_CACHE_HOME`."""
    from platformdirs import user_cache_path

    return user_cache_path("triage", appauthor=False) / name


def output_of(command: Sequence[str], seconds: float = 30.0) -> str | None:
    """What a program of this machine prints, given no input; None where it cannot be run, fails, or takes longer."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
