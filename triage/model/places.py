"""Where runs lie in the directory that triage is started from, and the name by which the newest is asked for."""

from __future__ import annotations

RUNS = "triage-out"
LATEST = "latest"
