"""The file that is to be run, as it was typed: is it a program of Python's, one of another interpreter, or none?

Of what is none a sentence tells what may have been meant.
"""

from __future__ import annotations

import difflib
import os
import re
import zipfile
from pathlib import Path

from triage.errors import UsageError

SHELLS = (".sh", ".bash", ".zsh", ".ksh")  # what a script without a first line that says more is named for
MOST_OF_A_LINE = 1000  # bytes


def is_zipapp(path: Path) -> bool:
    """An archive that Python runs as it runs a directory with a `__main__.py`."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "__main__.py" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def shebang_words(path: Path) -> list[str]:
    """The words that run a script of another interpreter, by its first line (`#!/usr/bin/env bash`); none of any other file."""
    if path.suffix in (".py", ".ipynb") or says_python(path):
        return []
    named = _shebang(path).decode(errors="replace").split()  # the kernel knows no quotes
    return named or ([path.suffix[1:]] if path.suffix in SHELLS else [])


def says_python(path: Path) -> bool:
    """Whether it is a script of Python's by its first line."""
    return b"python" in _shebang(path)


def _shebang(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            first = file.readline(MOST_OF_A_LINE)
    except OSError:
        return b""
    return first.removeprefix(b"#!").strip() if first.startswith(b"#!") else b""


def checked_script(name: str, cwd: Path) -> Path:
    """Its path. Raises UsageError where it is no script that can be read."""
    path = cwd / name
    try:
        is_directory, exists = path.is_dir(), path.exists()
    except OSError as error:  # in a directory that may not be entered
        raise _unreadable(name, error) from error
    if is_directory:
        if (path / "__main__.py").is_file():
            return path / "__main__.py"
        raise UsageError(
            what=f"{name} is a directory.",
            why="triage runs one script, a module (-m) or a command (after --), and this directory has no __main__.py.",
            next=f"Name the script in it, for example: {name.rstrip('/')}/train.py",
        )
    if not exists:
        beside = "" if os.sep in name or path.suffix else ", and for a program of that name on PATH"
        raise not_there(name, path, f"Looked for {path}{beside}.")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from error
    if path.suffix == ".ipynb":
        raise UsageError(
            what=f"{name} is a notebook.",
            why="triage runs programs, not notebooks.",
            next=f"Convert it first: jupyter nbconvert --to script {name}",
        )
    if b"\0" in source[:4096]:
        raise UsageError(what=f"{name} is not a Python script.", why="It holds binary data.", next="Name the script.")
    return path


def not_there(name: str, path: Path, why: str) -> UsageError:
    """What is raised of a script that is not there."""
    return UsageError(f"There is no script {name}.", why, _meant(name, path))


def _meant(name: str, path: Path) -> str:
    """What may have been meant by a name that is none of a file."""
    if re.match(r"[A-Za-z_]\w*=", name):
        return f"Set variables before the whole command: {name} triage ..."
    if len(name.split()) > 1:
        return f"Leave out the quotes: {name}"
    module = path.parent.joinpath(*path.name.split("."))
    if os.sep not in name and (module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()):
        return f"A module is named with -m: -m {name}"
    near = _alike(path)
    told = "Check the path; a module is named with -m: -m package.module"
    return f"Did you mean {Path(name).with_name(near)}?" if near else told


def _unreadable(name: str, error: OSError) -> UsageError:
    return UsageError(f"{name} cannot be read.", str(error), "Check its permissions, then run the same command.")


def _alike(path: Path) -> str:
    """The Python file beside it whose name is most like it; empty where none is."""
    try:
        beside = [each.name for each in path.parent.iterdir() if each.suffix == ".py"]
    except OSError:
        return ""
    return next(iter(difflib.get_close_matches(path.name, beside, n=1, cutoff=0.75)), "")
