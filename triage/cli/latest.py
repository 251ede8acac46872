"""`latest`: the newest run started from this directory, wherever a run directory is asked for."""

from __future__ import annotations

from pathlib import Path

from triage.model.places import LATEST, RUNS


def named(run: Path) -> Path:
    """The directory meant: what there is of that name, else the run that `triage list` tells by it, such as `latest`."""
    listed = Path(RUNS) / run
    return listed if len(run.parts) == 1 and not run.exists() and listed.exists() else run


def names(incomplete: str) -> list[str]:
    """What a shell completes to where a run is asked for: names of runs as they are typed, newest first."""
    try:
        places = sorted(Path(RUNS).iterdir(), key=lambda place: place.name, reverse=True)
    except OSError:
        places = []
    words = [LATEST, *(str(place) for place in places if place.name != LATEST and place.is_dir())]
    return [word for word in words if word.startswith(incomplete)]
