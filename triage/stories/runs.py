"""The runs under a directory: which there are, what each found, how to remove old ones and nothing else.

A run directory is known by what triage wrote there: a journal whose first line is an event of ours, or the database of a sweep. A
directory without either is somebody's, whatever its name.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.environments.files import JOURNAL, owned
from triage.errors import TriageError, UsageError
from triage.model.places import LATEST
from triage.model.report import TriageReport
from triage.model.stage import Symptom
from triage.report.store import report_in
from triage.report.writing import load_sweep
from triage.session.events import LAST_EVENTS
from triage.sweep import store as sweeps

FIRST_EVENTS = ("run_started", "bisect_started", "stdin_kept")
# Seconds: where nobody tells whether the process of a run lives, one that wrote within this time may go on.
STILL = 3600.0


@dataclass(frozen=True)
class ListedRun:
    """One run directory. `age` is in seconds since something was last learned, `size` in bytes, on disk.

    `kind` is run, explain, bisect or sweep; what a report says is None where there is none.
    """

    path: Path
    kind: str
    age: float
    size: int
    going_on: bool = False
    command: str = ""
    stage: str | None = None
    symptom: str | None = None
    fingerprint: str | None = None
    op: str | None = None
    complete: bool | None = None


def runs_in(directory: Path) -> list[ListedRun]:
    """The runs right under the directory, newest first. Raises UsageError where it cannot be read."""
    try:
        places = list(directory.iterdir())
    except OSError as error:
        raise UsageError(
            f"There are no runs in {directory}.",
            f"{directory.absolute()} cannot be read: {str(error.strerror or error).lower()}.",
            "Go where triage was started, or name the directory that holds the runs: triage list DIR",
        ) from error
    listed = (_listed(place, time.time()) for place in places)
    return sorted((run for run in listed if run is not None), key=lambda run: run.age)


def is_run(place: Path) -> bool:
    """Whether triage made this directory. A link is none: what it points to is listed where it lies."""
    first = _first_event(place / JOURNAL) if place.is_dir() and not place.is_symlink() else None
    return first is not None and first.get("kind") in FIRST_EVENTS


def remove(runs: Sequence[ListedRun]) -> list[Path]:
    """Delete these runs; where `latest` pointed to one of them it points to the newest that is left.

    Returns what could not be deleted. What is no run any more when its turn comes, or goes on again, is left alone.
    """
    left = []
    for run in runs:
        if not _may_go(run.path):
            left.append(run.path)
            continue
        shutil.rmtree(run.path, ignore_errors=True)
        left += [run.path] if run.path.exists() else []
    for parent in {run.path.parent for run in runs}:
        _mend_latest(parent)
    return left


def page_of(run: Path) -> Path:
    """What a person reads of a run. Raises UsageError where nothing was written yet."""
    pages = ("report.html", "report.md", "explain.html", "explain.md", "bisect.html", "bisect.md", "sweep.html")
    if run.is_file():
        return run
    found = next((run / name for name in pages if (run / name).is_file()), None)
    if found is not None:
        return found
    raise UsageError(
        f"{run} holds nothing to open.",
        f"None of {', '.join(pages)} is there." if run.exists() else f"{run} does not exist.",
        "Name a run directory (triage list shows them), or render it: triage report RUN",
    )


def _may_go(place: Path) -> bool:
    """Whether it still is ours, and nothing goes on in it."""
    if is_run(place):
        return not _goes_on(place, time.time())
    return sweeps.is_sweep(place) and not sweeps.in_use(place)


def _listed(place: Path, now: float) -> ListedRun | None:
    """None where it is not ours."""
    if is_run(place):
        return _listed_run(place, now)
    return _listed_sweep(place, now) if sweeps.is_sweep(place) else None


def _listed_run(place: Path, now: float) -> ListedRun:
    age = max(0.0, now - _mtime(place / JOURNAL))
    first = _first_event(place / JOURNAL) or {}
    command = " ".join(map(str, first.get("command") or ()))
    kind = "bisect" if (place / "bisect-state.json").exists() or (place / "bisect.json").exists() else "run"
    kind = "explain" if (place / "explain.json").exists() else kind
    report = report_in(place)
    facts: dict[str, Any] = _facts(report) if report is not None else {}
    return ListedRun(place, kind, age, _size(place), _goes_on(place, now), command, **facts)


def _listed_sweep(place: Path, now: float) -> ListedRun:
    known = max(_mtime(place / name) for name in (sweeps.NAME, f"{sweeps.NAME}-wal"))
    complete = None
    with contextlib.suppress(TriageError):  # nothing was written yet
        complete = load_sweep(place).complete
    return ListedRun(place, "sweep", max(0.0, now - known), _size(place), sweeps.in_use(place), complete=complete)


def _facts(report: TriageReport) -> dict[str, Any]:
    signature, culprit = report.signature, report.culprit
    failed = report.verdict.symptom is not Symptom.NONE
    return {
        "stage": report.verdict.stage.value,
        "symptom": report.verdict.symptom.value,
        "fingerprint": signature.fingerprint if signature is not None and failed else None,
        "op": culprit.op if culprit is not None else None,
        "complete": report.complete,
    }


def _goes_on(place: Path, now: float) -> bool:
    journal = place / JOURNAL
    if _last_event(journal).get("kind") in LAST_EVENTS:
        return False
    lives = owned(journal)
    return lives if lives is not None else now - _mtime(journal) < STILL


def _first_event(journal: Path) -> dict[str, Any] | None:
    try:
        with journal.open(encoding="utf-8", errors="replace") as file:
            event = json.loads(file.readline(1_000_000))
    except (OSError, ValueError):
        return None
    return event if isinstance(event, dict) else None


def _last_event(journal: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError), journal.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - 1_000_000))
        event = json.loads(file.read().splitlines()[-1])
        return event if isinstance(event, dict) else {}
    return {}


def _mtime(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _files(place: Path) -> Iterator[os.stat_result]:
    for directory, _, names in os.walk(place):
        for name in names:
            with contextlib.suppress(OSError):
                yield (Path(directory) / name).lstat()


def _size(place: Path) -> int:
    return sum(stat.st_blocks * 512 if hasattr(stat, "st_blocks") else stat.st_size for stat in _files(place))


def _mend_latest(parent: Path) -> None:
    link = parent / LATEST
    if not link.is_symlink() or link.exists():
        return
    with contextlib.suppress(OSError):
        link.unlink()
        newest = next((run for run in runs_in(parent) if run.kind != "sweep"), None)
        if newest is not None:
            link.symlink_to(newest.path.name)
