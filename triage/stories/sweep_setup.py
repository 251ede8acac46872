"""What a sweep begins with: its jobs, and the directory that is new, named, or that of an earlier sweep."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triage.environments.describe import require_findable_torch
from triage.errors import UsageError
from triage.model.places import LATEST, RUNS
from triage.probe.target import find_python
from triage.sweep.jobs import Job, find_jobs
from triage.sweep.store import NAME, Store


@dataclass(frozen=True)
class SweepStart:
    """What is to be swept over, and what is known of it."""

    jobs: tuple[Job, ...]
    store: Store


def set_up_sweep(
    words: Sequence[str], out: Path | None, resume: Path | None, python: str | None, *, again: bool
) -> SweepStart:
    """The jobs of these paths, or those of the sweep to go on with. With `again` what is known of them is forgotten.

    Raises UsageError where nothing can be run or written there, TargetError where `python` is no interpreter that has torch.
    """
    interpreter = find_python(python)
    if python is not None:  # each script would be told to be unusable, and nobody what to do
        require_findable_torch(interpreter)
    if resume is None:
        _check_words(words)
        jobs = tuple(find_jobs(words, Path.cwd()))  # before anything is made
        store = Store(Path.cwd() / (out or Path(RUNS) / f"sweep-{time.strftime('%Y%m%d-%H%M%S')}"))
        store.note("words", list(words))
        store.note("cwd", str(Path.cwd()))
    else:
        store = Store(_earlier(resume, words))
        jobs = tuple(find_jobs(store.about("words") or [], Path(store.about("cwd") or Path.cwd())))
    if again:
        store.forget()
    return SweepStart(jobs, store)


def _check_words(words: Sequence[str]) -> None:
    if not words:
        raise UsageError(
            what="There is nothing to sweep over.",
            why="`triage sweep` needs scripts, folders, patterns, tests, a list or a sweep.toml.",
            next="For example: triage sweep models/",
        )


def _earlier(resume: Path, words: Sequence[str]) -> Path:
    """The directory of the sweep to go on with. Raises UsageError where it is none, or where something else is asked for."""
    if words:
        raise UsageError(
            what="A resumed sweep keeps its scripts.",
            why=f"--resume was given together with {words[0]}.",
            next=f"triage sweep --resume {resume}   (or --out {resume} to sweep over other scripts there)",
        )
    found = resume
    if str(resume) == LATEST and not resume.exists():
        sweeps = sorted(Path(RUNS).glob(f"sweep-*/{NAME}"), key=lambda file: file.stat().st_mtime)
        found = sweeps[-1].parent if sweeps else resume
    if not (found / NAME).is_file():
        latest = found == Path(LATEST)
        raise UsageError(
            what=f"There is no {'earlier sweep' if latest else f'sweep {found}'} to go on with.",
            why=f"There is no {NAME} in {f'any directory under {RUNS}' if latest else 'it'}."
            if latest or found.is_dir()
            else "There is no such directory.",
            next="Name the directory of an earlier sweep, or start one: triage sweep PATH...",
        )
    return found.absolute()
