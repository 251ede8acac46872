"""Where a run writes: a directory of its own, never an earlier one's, gone again where the command meant nothing."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from triage.environments.files import check_writable
from triage.errors import UsageError, written
from triage.model.places import LATEST, RUNS

IGNORE = ".gitignore"
LONGEST_LABEL = 200  # bytes: a name has at most 255 of them


@dataclass(frozen=True)
class RunDirectory:
    """A directory that was made for one run, or lay there empty; `before` is the run that `latest` named until then."""

    path: Path
    made: bool
    named_latest: bool = False
    before: str | None = None

    def forget(self) -> None:
        """Nothing of the run is left: no directory but one that the person had made, and the earlier run is the latest again."""
        with contextlib.suppress(OSError):  # the message is what counts
            for inside in [self.path] if self.made else list(self.path.iterdir()):
                shutil.rmtree(inside) if inside.is_dir() and not inside.is_symlink() else inside.unlink()
        if not self.named_latest:
            return
        folder = self.path.parent
        with contextlib.suppress(OSError):  # another run may have begun since
            if (folder / LATEST).readlink().name == self.path.name:
                _point_latest(folder, self.before)
            if {entry.name for entry in folder.iterdir()} == {IGNORE}:
                shutil.rmtree(folder)


def name_of_run(label: str) -> str:
    """The script's name and the time: one word for a shell, and no longer than a file system allows."""
    plain = re.sub(r"[\s\x00-\x1f\x7f]+", "-", label).encode(errors="replace")[:LONGEST_LABEL].decode(errors="ignore")
    return f"{plain}-{time.strftime('%Y%m%d-%H%M%S')}"


def make_directory(out: Path | None, label: str, cwd: Path) -> RunDirectory:
    """`out`, or one named after the program and the time; a name that is taken gets a number.

    Raises UsageError where it cannot be made.
    """
    wanted = out if out is not None else cwd / RUNS / name_of_run(label)
    wanted = wanted if wanted.is_absolute() else cwd / wanted
    if os.path.lexists(wanted) and not wanted.is_dir():
        raise UsageError(
            what=f"The run directory {wanted} cannot be written.",
            why="A file of this name is there.",
            next="Choose a directory: --out DIR",
        )
    for number in range(1, 1000):
        path = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        next_step = "Choose a directory you may write to: triage run --out DIR script.py"
        with written(f"The run directory {path}", next_step):
            if out is not None and path.is_dir() and not any(path.iterdir()):
                check_writable(path)
                return RunDirectory(path, made=False)  # an empty directory that the person made for us
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
        return RunDirectory(path, made=True) if out is not None else _named(path)
    raise UsageError(
        what=f"{wanted} exists a thousand times.", why="Runs are never overwritten.", next="Use --out DIR."
    )


def _named(path: Path) -> RunDirectory:
    """`latest` names the newest run. Without links (Windows) there is none."""
    before = None
    with contextlib.suppress(OSError):
        before = str((path.parent / LATEST).readlink())
    with contextlib.suppress(OSError):
        _point_latest(path.parent, path.name)
        hide_from_git(path.parent)
    return RunDirectory(path, made=True, named_latest=True, before=before)


def hide_from_git(runs: Path) -> None:
    """Run directories never show up in the user's git status. Raises OSError."""
    ignore = runs / IGNORE
    if not ignore.exists():
        ignore.write_text("*\n")


def _point_latest(folder: Path, name: str | None) -> None:
    if name is None:
        (folder / LATEST).unlink()
        return
    fresh = folder / f".latest-{os.getpid()}"
    fresh.symlink_to(name)
    fresh.replace(folder / LATEST)
