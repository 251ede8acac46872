"""`latest`: the newest run started from this directory, wherever a run directory is asked for."""

from __future__ import annotations

from pathlib import Path

LATEST = "latest"
RUNS = "triage-out"


def named(run: Path) -> Path:
    """The directory meant: `latest` is `triage-out/latest`, unless there is something of that name here."""
    newest = Path(RUNS) / LATEST
    return newest if str(run) == LATEST and not run.exists() and newest.exists() else run


def names(incomplete: str) -> list[str]:
    """What a shell completes to where a run is asked for: names of runs as they are typed, newest first."""
    try:
        places = sorted(Path(RUNS).iterdir(), key=lambda place: place.name, reverse=True)
    except OSError:
        places = []
    words = [LATEST, *(str(place) for place in places if place.name != LATEST and place.is_dir())]
    return [word for word in words if word.startswith(incomplete)]
