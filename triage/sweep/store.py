"""What a sweep has learned, in SQLite beside the run directories: each answer is there or not, whatever is killed when.

The write-ahead log lets a page be made and a person look while the sweep writes. One process at a time owns a sweep.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from triage.environments.files import lock
from triage.errors import UsageError
from triage.model.codec import decode, encode
from triage.sweep.facts import Answer, Facts

NAME, LOCK = "sweep.sqlite", ".lock"
VERSION = 1
OURS = 0x74726967  # trig
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (name TEXT PRIMARY KEY, place INTEGER NOT NULL, digest TEXT NOT NULL, directory TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
    name TEXT NOT NULL, pass TEXT NOT NULL, code INTEGER, seconds REAL NOT NULL, facts TEXT, error TEXT, ended REAL NOT NULL,
    PRIMARY KEY (name, pass)
);
CREATE TABLE IF NOT EXISTS failed (name TEXT PRIMARY KEY);
"""


def is_sweep(folder: Path) -> bool:
    """Whether a sweep of ours lies in this directory. A link is none: what it points to is one where it lies.

    SQLite keeps an application's number at byte 68 of its files (https://www.sqlite.org/fileformat.html#application_id).
    """
    if folder.is_symlink():
        return False
    try:
        with (folder / NAME).open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and head[68:] == OURS.to_bytes(4, "big")


def in_use(folder: Path) -> bool:
    """Whether a process owns this sweep now."""
    try:
        with (folder / LOCK).open("r+", encoding="utf-8") as file:
            lock(file, exclusive=False)  # two who ask do not meet
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


class Store:
    """The answers of one sweep. Raises UsageError where the file cannot be used, or another sweep is using it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._owner = (folder / LOCK).open("a", encoding="utf-8")
            lock(self._owner, exclusive=True)
        except OSError as error:
            used = isinstance(error, BlockingIOError)
            raise UsageError(
                what=f"The sweep in {folder} cannot be written.",
                why="Another sweep is using it." if used else f"{error.strerror or error}.",
                next=f"{'Wait for its end, or name' if used else 'Name'} another directory: triage sweep --out DIR PATH...",
            ) from error
        try:
            self._database = sqlite3.connect(folder / NAME, isolation_level=None, check_same_thread=False)
            if self._database.execute("PRAGMA application_id").fetchone() != (OURS,):
                self._database.execute(f"PRAGMA application_id = {OURS}")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_TABLES)
            self._check_version()
        except UsageError:
            self._owner.close()
            raise
        except sqlite3.Error as error:
            self._owner.close()
            raise UsageError(
                what=f"{folder / NAME} cannot be used.",
                why=f"SQLite says: {error}.",
                next="Move it away, or name another directory: triage sweep --out DIR PATH...",
            ) from error

    def _check_version(self) -> None:
        found = self.about("version")
        if found not in (None, VERSION):
            raise sqlite3.DatabaseError(f"it was written by another version of triage ({found})")
        self.note("version", VERSION)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._database.close()
        self._owner.close()

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Raises UsageError where the disk is full, say: what was answered before is safe, and can be gone on with."""
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise UsageError(
                what=f"{self.folder / NAME} cannot be read or written any more.",
                why=f"SQLite says: {error}.",
                next=f"Once that is mended, go on: triage sweep --resume {self.folder}",
            ) from error

    def about(self, name: str) -> Any:
        """What was noted under this name; None where nothing was."""
        row = self._execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row is not None else None

    def note(self, name: str, value: Any) -> None:
        self._execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, json.dumps(value)))

    def enrol(self, name: str, place: int, digest: str, directory: str) -> str:
        """Take a job in; the directory that is its own. What is known of it is forgotten where its digest is another one."""
        row = self._execute("SELECT digest, directory FROM jobs WHERE name = ?", (name,)).fetchone()
        if row is not None and row[0] == digest:
            self._execute("UPDATE jobs SET place = ? WHERE name = ?", (place, name))
            return str(row[1])
        if row is not None:
            directory = f"{directory}-{self._attempt()}"  # the earlier run stays where it is
        with self._whole():
            self._remember(name)
            self._execute("DELETE FROM answers WHERE name = ?", (name,))
            self._execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", (name, place, digest, directory))
        return directory

    def _attempt(self) -> int:
        """A number that no directory of this sweep has yet."""
        number = int(self.about("attempts") or 1) + 1
        self.note("attempts", number)
        return number

    def forget(self) -> None:
        """Every answer: all is to be asked anew, in directories of its own, as the earlier ones would answer from memory."""
        with self._whole():
            for (name,) in self._execute("SELECT DISTINCT name FROM answers").fetchall():
                self._remember(name)
            self._execute("DELETE FROM answers")
            self._execute("UPDATE jobs SET digest = 'forgotten at ' || ?", (str(time.time()),))

    def _remember(self, name: str) -> None:
        """Of answers that are about to be forgotten: that it failed."""
        if any(answer.facts is not None and answer.facts.fate.ended_badly for answer in self.answers(name).values()):
            self._execute("INSERT OR REPLACE INTO failed VALUES (?)", (name,))

    def failed_before(self, name: str) -> bool:
        """Whether it failed in an earlier attempt, whose answers are forgotten."""
        return self._execute("SELECT 1 FROM failed WHERE name = ?", (name,)).fetchone() is not None

    def answer(self, name: str, which: str, answer: Answer) -> None:
        facts = json.dumps(encode(answer.facts)) if answer.facts is not None else None
        row = (name, which, answer.code, answer.seconds, facts, answer.error, time.time())
        self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def answers(self, name: str) -> dict[str, Answer]:
        """By pass, in the order in which they were given."""
        rows = self._execute(
            "SELECT pass, code, seconds, facts, error FROM answers WHERE name = ? ORDER BY ended", (name,)
        )
        found = {}
        for which, code, seconds, facts, error in rows:
            with contextlib.suppress(TypeError, ValueError, KeyError):  # written by another version: asked anew
                told = decode(Facts, json.loads(facts)) if facts else None
                found[which] = Answer(code, seconds, told, error)
        return found

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(UsageError):  # SQLite has done so already where a disk is full
                self._execute("ROLLBACK")
            raise
        self._execute("COMMIT")
