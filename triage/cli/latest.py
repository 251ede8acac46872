"""`latest`: the newest run started from this directory, wherever a run directory is asked for."""

from __future__ import annotations

from pathlib import Path

LATEST = "latest"


def named(run: Path) -> Path:
    """The directory meant: `latest` is `triage-out/latest`, unless there is something of that name here."""
    newest = Path("triage-out") / LATEST
    return newest if str(run) == LATEST and not run.exists() and newest.exists() else run
