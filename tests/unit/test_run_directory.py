"""Where a run writes: never over an earlier one, and nowhere where the command meant nothing."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.cli.view import typed
from triage.errors import UsageError
from triage.session.events import Emitter
from triage.session.session import open_session
from triage.session.settings import Settings


def test_run_directories_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()  # an empty one was made for us
    names = []
    for _ in range(3):
        session = open_session(Settings(out=Path("out")), "train", tmp_path, Emitter())
        session.emit("run_started")
        names.append(session.directory.name)
    assert names == ["out", "out-2", "out-3"]


def test_the_newest_run_has_a_name(tmp_path: Path) -> None:
    for _ in range(2):
        session = open_session(Settings(), "train", tmp_path, Emitter())
    runs = tmp_path / "triage-out"
    assert (runs / "latest").resolve() == session.directory and session.directory.parent == runs
    assert (runs / ".gitignore").read_text() == "*\n"


def test_a_run_directory_can_be_typed_and_made_whatever_the_script_is_called(tmp_path: Path) -> None:
    for label in ("my train", "two\nlines", "x" * 240, "ü" * 120):
        name = open_session(Settings(), label, tmp_path, Emitter()).directory.name
        assert not any(letter.isspace() for letter in name) and len(name.encode()) < 240
    assert typed("out/my run") == "'out/my run'" and typed("out/run") == "out/run"


@pytest.mark.parametrize("earlier", [True, False])
def test_a_command_that_means_nothing_leaves_no_directory(tmp_path: Path, earlier: bool) -> None:
    before = open_session(Settings(), "train", tmp_path, Emitter()).directory if earlier else None
    with pytest.raises(UsageError), _misused(Settings(), tmp_path):
        pass
    runs = tmp_path / "triage-out"
    assert (
        sorted(path.name for path in runs.iterdir() if path.is_dir()) == ["latest", before.name]
        if before
        else (not runs.exists())
    )
    assert before is None or (runs / "latest").resolve() == before


def test_a_directory_that_the_person_had_made_is_left_empty(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    with pytest.raises(UsageError), _misused(Settings(out=Path("own")), tmp_path):
        pass
    assert not list((tmp_path / "own").iterdir())


@contextlib.contextmanager
def _misused(settings: Settings, cwd: Path) -> Iterator[None]:
    session = open_session(settings, "train", cwd, Emitter())
    (session.directory / "logs").mkdir()
    (session.directory / "logs" / "as_is.err.log").touch()
    session.emit("run_started")
    with session.unless_misused():
        yield
        raise UsageError("train.py is a module of the package pk.")


@pytest.mark.parametrize("out", ["file", "file/run"])
def test_a_directory_that_cannot_be_made_is_the_users_to_change(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        open_session(Settings(out=Path(out)), "train", tmp_path, Emitter())
