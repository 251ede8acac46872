"""The environments made so far, kept under the user's cache directory: complete or absent, bounded in size.

Layout of the root: one directory per environment with a marker file in it, `downloads` (uv's cache), and directories whose
names begin with a dot for what is being made or removed. Invariants: an environment has its final name only once it is
complete (made under another name, then renamed); nothing is deleted that lacks our marker; nothing is deleted that a living
process uses (it holds a lock on the marker, which dies with it).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from triage.environments.files import check_writable, lock, tree_bytes, write_whole
from triage.environments.machine import kept_in
from triage.errors import TargetError, written

MARKER = "triage-environment.json"
MAKING = "triage-making.json"
FACTS = "triage-facts.json"  # what was found out after an environment was made
GIB = 1024**3
DEFAULT_LIMIT = 30 * GIB
SPARE_BYTES = GIB  # always left free on the disk
YOUNG_SECONDS = 3600.0  # while another process installs, downloads younger than this may be its own


@dataclass(frozen=True)
class Stored:
    """An environment in the cache. `facts` is its marker."""

    directory: Path
    facts: dict[str, Any]

    @property
    def venv(self) -> Path:
        return self.directory / "venv"

    @property
    def toolchain(self) -> Path:
        """What Inductor's C++ checks and precompiled headers are kept in: they belong to one torch."""
        return self.directory / "toolchain"


def default_root() -> Path:
    return kept_in("environments")


def key_of(name: str, parts: Iterable[str]) -> str:
    """A directory name: readable, and different where any of `parts` differs."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]
    return f"{re.sub(r'[^A-Za-z0-9.+_-]', '_', name)}-{digest}"


class EnvironmentCache:
    """The cache below `root`, at most `limit` bytes. Safe to use from several threads and processes."""

    def __init__(self, root: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.root = root
        self.limit = limit
        self._lock = threading.RLock()
        self._held: dict[Path, IO[str]] = {}
        self._promised: dict[Path, int] = {}  # bytes that installations going on will still need
        next_step = "Point XDG_CACHE_HOME to a directory that can be written and has room."
        with written(f"The environment cache {root}", next_step, TargetError):
            root.mkdir(parents=True, exist_ok=True)
            check_writable(root)
        self.sweep()

    @property
    def downloads(self) -> Path:
        return self.root / "downloads"

    def find(self, key: str) -> Stored | None:
        """The environment of this key; it stays in place until `release` or the end of the process."""
        with self._lock:
            directory = self.root / key
            if not _marker(directory) or not self._hold(directory):
                return None
            facts = _marker(directory)  # read again: it is locked now
            if not facts:
                self.release(directory)
                return None
            os.utime(directory / MARKER)
            return Stored(directory, facts)

    def holds(self, key: str) -> bool:
        """Whether there is an environment of this key."""
        return bool(_marker(self.root / key))

    def begin(self, key: str, room: int) -> Path:
        """A new directory to make an environment in, once `room` bytes are free. Raises NoRoomError where they are not."""
        with self._lock:
            self.make_room(room)
            directory = self.root / f".making-{key}-{uuid.uuid4().hex[:8]}"
            directory.mkdir()
            (directory / MAKING).write_text(json.dumps({"pid": os.getpid(), "began": time.time()}))
            self._hold(directory, MAKING)
            self._promised[directory] = room
            return directory

    def finish(self, making: Path, key: str, facts: dict[str, Any]) -> Stored:
        """Give what was made its final name. Where another process was quicker, its environment is taken."""
        full = {"triage": 1, **facts, "size": tree_bytes(making), "made": time.strftime("%Y-%m-%dT%H:%M:%S")}
        with self._lock:
            write_whole(making / MARKER, json.dumps(full, indent=1))
            goal = self.root / key
            try:
                making.rename(goal)
            except OSError:
                existing = self.find(key)
                if existing is None:
                    raise
                self.abandon(making)
                return existing
            self._let_go(making)
            (goal / MAKING).unlink(missing_ok=True)
            self._hold(goal)
            self.keep_bound()
            return Stored(goal, full)

    def abandon(self, making: Path) -> None:
        """Remove what was being made."""
        with self._lock:
            self._let_go(making)
            _remove(making)

    def update(self, stored: Stored, **facts: Any) -> Stored:
        """Add facts that were found out later."""
        added = {**_json(stored.directory / FACTS), **facts}
        with contextlib.suppress(OSError):  # what cannot be noted is found out again next time
            write_whole(stored.directory / FACTS, json.dumps(added, indent=1))
        return Stored(stored.directory, {**stored.facts, **added})

    def release(self, directory: Path) -> None:
        """Allow that it is removed."""
        with self._lock:
            self._let_go(directory)

    def sweep(self) -> None:
        """Remove what dead processes left half made or half removed."""
        with self._lock:
            for path in (
                self._ours(".making-*", MAKING) + self._ours(".removing-*", MARKER) + self._ours(".removing-*", MAKING)
            ):
                if path not in self._held and _is_free(path / (MAKING if (path / MAKING).exists() else MARKER)):
                    _remove(path)
            if self._nobody_installs():  # what an installer that was killed had not unpacked or downloaded to its end
                for path in self.downloads.glob(".tmp*"):
                    shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def installing(self) -> Iterator[None]:
        """While this is open, no other process removes downloads: an installation may be about to link them."""
        with (self.root / ".installing.lock").open("a") as file:
            with contextlib.suppress(OSError):
                lock(file, exclusive=False)
            yield

    def make_room(self, room: int) -> None:
        """Free `room` bytes beside what was promised already, least recently used first. Raises NoRoomError."""
        with self._lock:
            wanted = room + sum(self._promised.values()) + SPARE_BYTES
            self.keep_bound(max(0, self.limit - room))
            self._evict_until(lambda: shutil.disk_usage(self.root).free >= wanted)
            free = shutil.disk_usage(self.root).free
            if free < wanted:
                raise no_room(self.root, wanted, free)

    def keep_bound(self, limit: int | None = None) -> None:
        """Remove the least recently used until the rest fits into the bound."""
        bound = self.limit if limit is None else limit
        with self._lock:
            self._evict_until(lambda: self.total_bytes() <= bound)

    def total_bytes(self) -> int:
        """What the environments take, and the downloads that none of them shares."""
        environments = sum(self._size(path) for path in self._ours("*", MARKER))
        return environments + sum(tree_bytes(path) for _, path in _unshared(self.downloads))

    # -- inside -----------------------------------------------------------------------------------------------------

    def _evict_until(self, enough: Callable[[], bool]) -> None:
        """Removing an environment may leave downloads that nobody shares any more, so what can go is looked at anew."""
        refused: set[Path] = set()
        while not enough():
            victim = next((path for path in self._oldest_first() if path not in refused), None)
            if victim is None:
                return
            if not self._evict(victim):
                refused.add(victim)

    def _oldest_first(self) -> list[Path]:
        """What may be removed: environments, and downloads that no environment shares."""
        found = [((path / MARKER).stat().st_mtime, path) for path in self._ours("*", MARKER) if path not in self._held]
        return [path for _, path in sorted([*found, *_unshared(self.downloads)], key=lambda entry: entry[0])]

    def _nobody_installs(self) -> bool:
        """Whether no process, this one included, is in `installing`."""
        gate = self.root / ".installing.lock"
        return not gate.exists() or _is_free(gate)

    def _ours(self, pattern: str, marker: str) -> list[Path]:
        return [
            path
            for path in sorted(self.root.glob(pattern))
            if (path / marker).is_file() and (pattern.startswith(".") or not path.name.startswith("."))
        ]

    def _size(self, path: Path) -> int:
        size = _marker(path).get("size")
        return int(size) if size else tree_bytes(path)

    def _evict(self, path: Path) -> bool:
        if path.is_relative_to(self.downloads):
            if not self._nobody_installs() and time.time() - path.stat().st_mtime < YOUNG_SECONDS:
                return False
            shutil.rmtree(path, ignore_errors=True)
            return not path.exists()
        if path in self._held or not _is_free(path / MARKER):
            return False
        _remove(path)
        return not path.exists()

    def _hold(self, directory: Path, name: str = MARKER) -> bool:
        """Lock the marker, shared: an environment in use is not removed, by us or by another process."""
        if directory in self._held:
            return True
        try:
            file = (directory / name).open()
            lock(file, exclusive=False)
        except OSError:
            return False
        self._held[directory] = file
        return True

    def _let_go(self, directory: Path) -> None:
        self._promised.pop(directory, None)
        file = self._held.pop(directory, None)
        if file is not None:
            file.close()


class NoRoomError(TargetError):
    """The disk has no room for another environment now."""


def no_room(place: Path, wanted: int, free: int) -> NoRoomError:
    return NoRoomError(
        what=f"There is not enough room on the disk of {place}.",
        why=f"The next environment needs {wanted / GIB:.1f} GiB; {free / GIB:.1f} GiB are free.",
        next="Free some space, or point XDG_CACHE_HOME to a bigger disk.",
    )


def _marker(directory: Path) -> dict[str, Any]:
    """The marker's facts and those added later; empty where there is no marker of ours."""
    facts = _json(directory / MARKER)
    return {**facts, **_json(directory / FACTS)} if facts.get("triage") == 1 else {}


def _json(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _is_free(marker: Path) -> bool:
    """Whether no living process uses it."""
    try:
        with marker.open() as file:
            lock(file, exclusive=True)
            return True
    except OSError:
        return False


def _remove(directory: Path) -> None:
    """Delete a directory of ours. It loses its name first, its marker last: a half deleted one is known as such."""
    if not ((directory / MARKER).is_file() or (directory / MAKING).is_file()):
        return
    doomed = directory
    if not directory.name.startswith(".removing-"):
        doomed = directory.with_name(f".removing-{uuid.uuid4().hex[:8]}")
        try:
            directory.rename(doomed)
        except OSError:
            return
    for path in doomed.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in (MARKER, MAKING):
            path.unlink(missing_ok=True)
    shutil.rmtree(doomed, ignore_errors=True)


def _unshared(downloads: Path) -> Iterator[tuple[float, Path]]:
    """(time, directory) of unpacked wheels in uv's cache that no environment has a link to."""
    for archive in sorted((downloads / "archive-v0").glob("*")):
        files = list(islice((path for path in archive.rglob("*") if path.is_file() and not path.is_symlink()), 50))
        if files and all(path.stat().st_nlink == 1 for path in files):
            yield archive.stat().st_mtime, archive
