"""Reading a repository: what it says, what it refuses, and that it leaves no trace."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from triage.report.repository import repository_state, without_credentials


def git(place: Path, *arguments: str) -> str:
    identity = [
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@example.com",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ]
    done = subprocess.run(["git", *identity, *arguments], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "train.py").write_text("x = 1\n")
    git(tmp_path, "add", "train.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_a_clean_repository(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://me:hunter2@example.com/a/b.git?token=x")
    state = repository_state(repository / "train.py")
    assert state.commit == git(repository, "rev-parse", "HEAD")
    assert (state.branch, state.dirty, state.remote) == ("main", False, "https://example.com/a/b.git")


def test_from_a_folder_inside(repository: Path) -> None:
    (repository / "deep" / "er").mkdir(parents=True)
    assert repository_state(repository / "deep" / "er") is not None


def test_a_change_makes_it_dirty_and_an_untracked_file_does_not(repository: Path) -> None:
    (repository / "new.py").write_text("")
    state = repository_state(repository)
    assert state is not None and not state.dirty
    (repository / "train.py").write_text("x = 2\n")
    state = repository_state(repository)
    assert state is not None and state.dirty


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    state = repository_state(repository)
    assert state is not None and state.branch is None


def test_another_remote_than_origin(repository: Path) -> None:
    git(repository, "remote", "add", "upstream", "me@example.com:a/b.git")
    state = repository_state(repository)
    assert state is not None and state.remote == "example.com:a/b.git"


def test_nothing_is_written(repository: Path) -> None:
    # A newer mtime with the same content is what makes `git status` refresh the index.
    later = time.time() + 5
    os.utime(repository / "train.py", (later, later))
    before = {
        place: (place.stat().st_mtime_ns, place.stat().st_size)
        for place in (repository / ".git").rglob("*")
        if place.is_file()
    }
    repository_state(repository)
    after = {
        place: (place.stat().st_mtime_ns, place.stat().st_size)
        for place in (repository / ".git").rglob("*")
        if place.is_file()
    }
    assert after == before


def test_no_file_system_monitor_is_started(repository: Path, tmp_path: Path) -> None:
    trap = repository / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {repository / 'sprung'}\n")
    trap.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(trap))
    assert repository_state(repository) is not None
    assert not (repository / "sprung").exists()


@pytest.mark.parametrize("kind", ["no repository", "bare", "no commit", "damaged", "missing path"])
def test_none_where_there_is_nothing_to_say(tmp_path: Path, kind: str) -> None:
    place = tmp_path
    if kind == "bare":
        git(tmp_path, "init", "-q", "--bare")
    elif kind == "no commit":
        git(tmp_path, "init", "-q")
    elif kind == "damaged":
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    elif kind == "missing path":
        place = tmp_path / "not" / "there.py"
    assert repository_state(place) is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a directory away")
def test_none_where_it_belongs_to_somebody_else(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(repository))  # no safe.directory of the machine
    for place in [repository, *repository.rglob("*")]:
        os.chown(place, 12345, 12345)
    assert repository_state(repository) is None


def test_none_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert repository_state(repository) is None


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://github.com/a/b", "https://github.com/a/b"),
        ("https://tok@github.com/a/b", "https://github.com/a/b"),
        ("ssh://git@github.com:22/a/b", "ssh://git@github.com:22/a/b"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("/srv/git/a.git", "<a local path>"),
        ("../a.git", "<a local path>"),
        ("file:///home/annika/a.git", "<a local path>"),
        ("C:/git/a.git", "<a local path>"),
        ("host:a.git", "host:a.git"),
        ("https://u:p@ss@host/x", "https://host/x"),
    ],
)
def test_credentials_are_stripped(url: str, clean: str) -> None:
    assert without_credentials(url) == clean
