"""What a sweep runs: folders, patterns, lists and files of settings as jobs. One job is one `triage run`.

A folder gives every `*.py` below it that may be a program: not what tests and packages are set up by, not what lies in virtual
environments or run directories. A file that pytest collects is run by pytest; a folder with a `case.json` is that one case, run
in its folder with the arguments that stand there.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from triage.errors import UsageError
from triage.model.places import PACKAGES, RUNS

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

NO_PROGRAMS = ("__init__.py", "__main__.py", "conftest.py", "setup.py", "noxfile.py")
NO_FOLDERS = ("__pycache__", "node_modules", *PACKAGES, RUNS)
_TEST = re.compile(r"test_.*\.py$|.*_test\.py$")  # what pytest collects by default
_PATTERN = re.compile(r"[*?\[]")
_KEYS = ("path", "args", "command", "cwd", "python", "name", "flaky")


@dataclass(frozen=True)
class Job:
    """`words` follow `triage run OPTIONS`. `files` are those whose content decides whether it is still the same job.

    `flaky`: it is said to fail in some runs only.
    """

    name: str
    words: tuple[str, ...]
    cwd: Path
    files: tuple[Path, ...] = ()
    python: str | None = None
    flaky: bool = False

    def digest(self, *circumstances: str) -> str:
        """What changes when the job does: its command, the content of its files, and the circumstances it is run under."""
        found = hashlib.sha256()
        for part in (*self.words, str(self.cwd), self.python or "", *circumstances):
            found.update(part.encode("utf-8", "replace") + b"\0")
        for file in self.files:
            try:
                found.update(file.read_bytes())
            except OSError:
                found.update(b"unreadable")
        return found.hexdigest()

    @property
    def directory(self) -> str:
        """A name for its run directory: readable, and of no other job."""
        slug = re.sub(r"[^\w.]+", "-", self.name).strip("-.")[-60:]
        return f"{slug}-{hashlib.sha256(self.name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def find_jobs(words: Sequence[str], cwd: Path) -> list[Job]:
    """The jobs of these paths, each once, in the order given. Raises UsageError where one is nothing that can be run."""
    found = [job for word in words for job in _jobs_of(word, cwd)]
    jobs = list({(job.words, job.cwd, job.python): job for job in found}.values())
    if not jobs:
        raise UsageError(
            what="There is no script to sweep over.",
            why=f"No program was found in {', '.join(words)}.",
            next="Name scripts, folders, patterns, a list (.txt) or a sweep.toml: triage sweep models/",
        )
    return _with_own_names(jobs)


def _with_own_names(jobs: Sequence[Job]) -> list[Job]:
    """One script with several arguments is several jobs: each name is given once."""
    taken: dict[str, int] = {}
    named = []
    for job in jobs:
        taken[job.name] = taken.get(job.name, 0) + 1
        named.append(job if taken[job.name] == 1 else replace(job, name=f"{job.name} #{taken[job.name]}"))
    return named


def _jobs_of(word: str, cwd: Path) -> Iterator[Job]:
    path = cwd / Path(word).expanduser()
    if "::" in word:
        yield _of_test(word, cwd)
    elif path.is_dir():
        yield from _of_folder(path, cwd)
    elif path.suffix == ".toml" and path.is_file():
        yield from _of_settings(path)
    elif path.suffix == ".txt" and path.is_file():
        yield from _of_list(path)
    elif path.is_file():
        yield _of_script(path, cwd)
    elif _PATTERN.search(word):
        for name in sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207  the pattern may be absolute
            yield from _jobs_of(name, cwd)
    else:
        raise UsageError(
            what=f"There is no {word}.",
            why="It is no file, no folder, and no pattern that matches one.",
            next="Correct it, or leave it out.",
        )


def _of_test(node: str, cwd: Path) -> Job:
    file = cwd / node.split("::")[0]
    if not file.is_file():
        raise UsageError(f"There is no test {node}.", f"{file} is no file.", "Correct the path before the `::`.")
    return Job(node, ("--", "pytest", node), cwd, (file,))


def _of_script(path: Path, cwd: Path, args: Sequence[str] = ()) -> Job:
    name = _told(path, cwd)
    if _TEST.fullmatch(path.name):
        return Job(name, ("--", "pytest", name, *args), cwd, (path,))
    return Job(" ".join([name, *args]), (name, *args), cwd, (path,))


def _of_folder(folder: Path, cwd: Path) -> Iterator[Job]:
    if (folder / "case.json").is_file():
        yield _of_case(folder, cwd)
        return
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read.", str(error), "Name another folder.") from error
    for place in inside:
        if place.name.startswith(".") or (place.is_symlink() and place.is_dir()):
            continue
        if place.is_dir() and place.name not in NO_FOLDERS and not (place / "pyvenv.cfg").exists():
            yield from _of_folder(place, cwd)
        elif place.suffix == ".py" and place.name not in NO_PROGRAMS and place.is_file():
            yield _of_script(place, cwd)


def _of_case(folder: Path, cwd: Path) -> Job:
    """The case's own command, run in its folder, as its programs look for files there."""
    facts = _read(folder / "case.json", json.loads)
    words = ("--", *map(str, facts["command"])) if facts.get("command") else ("script.py",)
    files = tuple(sorted(path for path in folder.rglob("*.py") if RUNS not in path.parts))
    words = (*map(str, facts.get("options", ())), *words, *map(str, facts.get("args", ())))
    return Job(_told(folder, cwd), words, folder, files)


def _of_list(path: Path) -> Iterator[Job]:
    """A script and its arguments per line, relative to the list's own folder; `#` begins a comment."""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UsageError(f"Line {number} of {path} cannot be read.", str(error), "Close its quotes.") from error
        if not words:
            continue
        script = path.parent / words[0]
        if "::" in words[0]:
            yield _of_test(words[0], path.parent)
        elif script.is_file():
            yield _of_script(script.absolute(), path.parent.absolute(), words[1:])
        elif len(words) == 1:
            yield from _jobs_of(words[0], path.parent.absolute())
        else:
            raise UsageError(f"There is no {script}.", f"It stands in line {number} of {path}.", "Correct it there.")


def _of_settings(path: Path) -> Iterator[Job]:
    """`[[script]]` tables, each with `path` and `args`, or `command`; `cwd`, `python`, `flaky` there or above all of them."""
    facts = _read(path, tomllib.loads)
    tables = facts.get("script", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{path} has no scripts.", "It needs [[script]] tables.", 'For example: path = "train.py"')
    for number, table in enumerate(tables, 1):
        unknown = [key for key in table if key not in _KEYS]
        if unknown or ("path" in table) == ("command" in table):
            raise UsageError(
                what=f"The {number}. [[script]] of {path} cannot be used.",
                why=f"There is no key {unknown[0]}." if unknown else "It needs a path or a command, and not both.",
                next=f"Known are {', '.join(_KEYS)}.",
            )
        yield from _of_table(table, facts, path.parent.absolute())


def _of_table(table: Mapping[str, Any], above: Mapping[str, Any], folder: Path) -> Iterator[Job]:
    place = folder / str(table.get("cwd", above.get("cwd", ".")))
    python = table.get("python", above.get("python"))
    args = [str(word) for word in table.get("args", ())]
    if "command" in table:
        words = [str(word) for word in table["command"]]
        jobs = [Job(" ".join(words), ("--", *words), place, tuple(_files_in(words, place)))]
    elif (place / table["path"]).is_file() and "::" not in table["path"]:
        jobs = [_of_script(place / table["path"], place, args)]
    else:
        jobs = list(_jobs_of(str(table["path"]), place))
        jobs = [replace(job, words=(*job.words, *args)) for job in jobs]
    for job in jobs:
        name, flaky = str(table.get("name", job.name)), bool(table.get("flaky", above.get("flaky", False)))
        yield replace(job, python=str(python) if python else None, name=name, flaky=flaky)


def _files_in(words: Sequence[str], place: Path) -> Iterator[Path]:
    for word in words:
        if word.endswith(".py") and (place / word).is_file():
            yield place / word


def _read(path: Path, parse: Any) -> dict[str, Any]:
    try:
        facts = parse(path.read_text(encoding="utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("it is no table")
    except (OSError, ValueError) as error:  # of json and of toml, too
        raise UsageError(f"{path} cannot be read.", str(error), "Correct it there, or leave it out.") from error
    return facts


def _told(path: Path, cwd: Path) -> str:
    """As a person there would type it."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  links stay: what they are called is what was asked for
    return os.path.relpath(absolute, cwd) if absolute.is_relative_to(Path(os.path.abspath(cwd))) else str(absolute)  # noqa: PTH100
