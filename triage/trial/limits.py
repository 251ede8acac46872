"""How many candidates may run at once, and how much memory each may take, on this machine."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

BYTES_PER_CANDIDATE = int(1.5 * (1 << 30))
LEAST_MEMORY_MB = 2048
_CGROUP = Path("/sys/fs/cgroup")


def default_jobs() -> int:
    """One per core, as far as memory goes (1.5 GB each), at least one."""
    return max(1, min(usable_cores(), available_bytes() // BYTES_PER_CANDIDATE))


def default_memory_mb(jobs: int) -> int:
    """A candidate's limit: its share of what is free, never less than 2 GB, in MiB."""
    return max(LEAST_MEMORY_MB, int(available_bytes() * 0.9 / max(1, jobs)) >> 20)


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
    found = [16 * BYTES_PER_CANDIDATE]
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10]
    with contextlib.suppress(OSError, ValueError):
        limit = int((_CGROUP / "memory.max").read_text())
        found.append(max(0, limit - int((_CGROUP / "memory.current").read_text())))
    return min(found)


def meets_others(source: str) -> bool:
    """Whether a script joins a process group at an address, which is for one run at a time."""
    return "init_process_group" in source and not any(store in source for store in ("HashStore()", "FakeStore()"))
