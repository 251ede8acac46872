"""How many candidates may run at once, and how much memory each may take, on this machine."""

from __future__ import annotations

from triage.environments.machine import available_bytes, usable_cores

BYTES_PER_CANDIDATE = int(1.5 * (1 << 30))
LEAST_MEMORY_MB = 2048


def default_jobs() -> int:
    """One per core, as far as memory goes (1.5 GB each), at least one."""
    return max(1, min(usable_cores(), available_bytes() // BYTES_PER_CANDIDATE))


def default_memory_mb(jobs: int) -> int:
    """A candidate's limit: its share of what is free, never less than 2 GB, in MiB."""
    return max(LEAST_MEMORY_MB, int(available_bytes() * 0.9 / max(1, jobs)) >> 20)


def meets_others(source: str) -> bool:
    """Whether a script joins a process group at an address, which is for one run at a time."""
    return "init_process_group" in source and not any(store in source for store in ("HashStore()", "FakeStore()"))
