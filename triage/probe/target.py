"""The target: which interpreter, which command, from where."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from triage.errors import TargetError, UsageError
from triage.model.outcome import RaisedException
from triage.model.text import quoted
from triage.probe.launch import Cancel, Launch, launch, text_of
from triage.probe.script import checked_script, is_zipapp, not_there, says_python, shebang_words

_NOT_THERE = re.compile(r"can't open file '(.+?)': \[Errno 2\].*|file or directory not found: (.+)")
_NO_PARENT = "attempted relative import with no known parent package"
_NO_SCRIPT = re.compile(r"-[bBdEhiIOPqsSuvVx?]*[cm]")
_TEXT = re.compile(r"-[bBdEhiIOPqsSuvVx?]*c(.*)", re.DOTALL)


@dataclass(frozen=True)
class Target:
    """An interpreter and a command line. `script` is the program's own file where there is one, `stdin` what it reads."""

    python: str
    command: tuple[str, ...]
    cwd: Path
    script: Path | None = None
    label: str = "target"
    stdin: Path | None = None
    only_test: str = ""  # of a session of pytest or unittest: the one that runs, by its id there

    def text(self) -> str | None:
        """The program's own text: a file, what stands behind `-c`, or what Python reads; None where there is none to read."""
        try:
            if self.script is not None:
                return self.script.read_text(encoding="utf-8")
            words = self.command[1:] if _is_python(Path(self.command[0]).name) else ("-m",)
            place = _end_of_options(words)
            if place == len(words) or words[place] == "-":
                return self.stdin.read_text(encoding="utf-8") if self.stdin is not None else None
        except (OSError, UnicodeDecodeError):  # it may be written in another encoding
            return None
        given = _TEXT.fullmatch(words[place])
        return (given[1] or "".join(words[place + 1 : place + 2])) if given is not None else None

    def with_command(self, *command: str, cwd: Path) -> Target:
        """The same interpreter, another command in another directory."""
        return Target(self.python, command, cwd, None, self.label)


def python_of(environment: Path) -> Path:
    """The interpreter in a virtual environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def find_python(wanted: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """The target interpreter: as asked for, else that of the active environment, else the one that runs triage.

    Raises TargetError where it is no interpreter.
    """
    if wanted:
        found = shutil.which(str(Path(wanted).expanduser()))
        if found is None:
            raise TargetError(
                what=f"There is no interpreter at {wanted}.",
                why="--python must name an executable Python, such as ~/venv/bin/python.",
                next="Correct the path, or leave --python out to use the active environment.",
            )
        return _absolute(found)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(variable):
            candidate = python_of(Path(environ[variable]))
            if candidate.exists():
                return str(candidate)
    return sys.executable


def _absolute(path: str) -> str:
    return str(Path(path).absolute())  # not resolved: a venv's python is a link, and the link is what makes the venv


def command_of(words: Sequence[str], module: str | None, raw: bool) -> tuple[str, ...]:
    """What is to be run, as it was typed: `-m MODULE ARGS`, `-- COMMAND`, or the script and its arguments."""
    return (*(("-m", module) if module else ()), *(("--",) if raw else ()), *words)


def words_of(command: Sequence[str]) -> tuple[str | None, bool, list[str]]:
    """(module, whether it is a whole command, the other words) of what `command_of` tells.

    >>> words_of(("-m", "pkg.train", "--steps", "2"))
    ('pkg.train', False, ['--steps', '2'])
    """
    words = list(command)
    module = words[1] if words[:1] == ["-m"] else None
    words = words[2:] if module is not None else words
    raw = words[:1] == ["--"]
    return module, raw, words[1:] if raw else words


def make_target(words: Sequence[str], *, module: str | None, raw: bool, python: str, cwd: Path) -> Target:
    """The target for `SCRIPT ARGS`, `-m MODULE ARGS`, or a raw command: after `--`, or one that names a program (`torchrun`).

    A script whose first line names another interpreter (`./train.sh`) is run by that.

    Raises UsageError where the script cannot be read or does not parse.
    """
    if raw or (module is None and _is_command(words[0], python, cwd)):
        return _raw(words, python, cwd)
    if module is not None:
        return Target(python, (python, "-m", module, *words), cwd, None, module.rsplit(".", 1)[-1])
    command = (python, words[0], *words[1:])
    if is_zipapp(cwd / words[0]):
        return Target(python, command, cwd, None, Path(words[0]).stem)  # nobody has its files to read or to change
    script = checked_script(words[0], cwd)
    other = shebang_words(script)
    if other:
        return replace(_raw((*other, *words), python, cwd), label=script.stem)
    return Target(python, command, cwd, script, script.stem)


def _raw(words: Sequence[str], python: str, cwd: Path) -> Target:
    first = words[0]
    script = next((cwd / word for word in words if word.endswith(".py") and (cwd / word).is_file()), None)
    label = script.stem if script else Path(first).name
    named = _script_of(words[1:]) if _is_python(Path(first).name) else None
    if named is not None and not is_zipapp(cwd / named):
        checked_script(named, cwd)
    if os.sep not in first and _is_python(first):
        return Target(python, (python, *words[1:]), cwd, script, label)
    found = _program(first, python)
    if found is None:
        raise UsageError(
            what=f"The command {first} was not found.",
            why=f"It is neither beside the target interpreter ({python}) nor on PATH.",
            next="Install it there, choose another interpreter with --python, or give its full path.",
        )
    return Target(
        _interpreter_of(found, python) if os.sep in first else python, (found, *words[1:]), cwd, script, label
    )


def _program(name: str, python: str) -> str | None:
    beside = Path(python).parent / name
    return str(beside) if os.sep not in name and beside.exists() else shutil.which(name)


def _is_command(name: str, python: str, cwd: Path) -> bool:
    """Whether it is a program's name and no file of this directory: `python -m pkg.train`, `torchrun train.py`."""
    plain = os.sep not in name and not name.endswith((".py", ".ipynb")) and not (cwd / name).exists()
    return plain and (_is_python(name) or _program(name, python) is not None)


def _script_of(words: Sequence[str]) -> str | None:
    """The script that Python is given, behind its own options; None where it is given a module, a text or its input.

    >>> _script_of(("-O", "-W", "error", "train.py", "-m")), _script_of(("-Om", "pkg.train"))
    ('train.py', None)
    """
    place = _end_of_options(words)
    return words[place] if place < len(words) and not words[place].startswith("-") else None


def _end_of_options(words: Sequence[str]) -> int:
    """The place of the word that says what Python runs: a script, `-`, `-c` or `-m` with options before it."""
    rest = iter(enumerate(words))
    for place, word in rest:
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            next(rest, None)
        elif word == "-" or not word.startswith("-") or _NO_SCRIPT.match(word):
            return place
    return len(words)


def _interpreter_of(program: str, python: str) -> str:
    """The interpreter that a program given by its path brings along: itself, or that of the environment it lies in."""
    path = Path(_absolute(program))
    if _is_python(path.name):
        return str(path)
    home = path.parent.parent
    inside = (home / "pyvenv.cfg").exists() or (home / "conda-meta").exists()
    return str(path.with_name("python")) if inside and path.with_name("python").exists() else python


def _is_python(name: str) -> bool:
    return re.fullmatch(r"python[\d.]*(\.exe)?", name) is not None


def check_syntax(target: Target) -> None:
    """Raise UsageError where the script does not parse for the *target* interpreter (its Python may be newer or older)."""
    if target.script is None or target.command[0] != target.python:
        return
    code = (
        "import sys, ast, tokenize\n"
        "try:\n"
        "    ast.parse(tokenize.open(sys.argv[1]).read(), sys.argv[1])\n"
        "except UnicodeDecodeError as e:\n"
        "    line = e.object.count(b'\\n', 0, e.start) + 1\n"
        "    print(f'line {line}: the byte {e.object[e.start]:#04x} is not {e.encoding}, and no other encoding is declared')\n"
        "except (SyntaxError, ValueError) as e:\n"
        "    syntax = isinstance(e, SyntaxError)\n"
        "    line = f'line {e.lineno}' if syntax and e.lineno else ''  # none is told of an encoding\n"
        "    said = e.msg.replace(f' for {sys.argv[1]!r}', '') if syntax else str(e)\n"
        "    print(': '.join(filter(None, [line, said, (e.text or '').strip() if syntax else ''])))\n"
    )
    done = run_python(target.python, ["-I", "-S", "-c", code, str(target.script)], timeout=30)
    if done.returncode == 0 and done.stdout.strip():
        raise UsageError(
            what=f"{target.script.name} is not valid Python: {done.stdout.strip()}",
            why="The target interpreter cannot parse it, so nothing can be run.",
            next="Correct the script (or choose the interpreter it was written for with --python).",
        )


def check_module(target: Target, said: str) -> None:
    """Raise UsageError where the interpreter could not start the module: `said` is then its own word on it (runpy's)."""
    words = target.command
    if words[1:2] != ("-m",) or not said.startswith(f"{words[0]}: "):
        return
    raise UsageError(
        what=f"{words[2]} cannot be run as a module.",
        why=said.removeprefix(f"{words[0]}: "),
        next=f"Check its name and the directory: {Path(words[0]).name} -m {words[2]} must start from here.",
    )


def check_named(target: Target, said: str) -> None:
    """Raise UsageError where a script that the command names is not there, by the word of the Python or pytest it started."""
    for found in _NOT_THERE.finditer(said):
        path = found[1] or found[2]
        for word in target.command[1:]:
            if path in (word, str(target.cwd / word)):
                raise not_there(word, target.cwd / word, found[0])


def check_package(target: Target, error: RaisedException | None) -> None:
    """Raise UsageError where the script is a module of a package, and cannot import from it as it is no part of it here."""
    script = target.script
    if script is None or error is None or _NO_PARENT not in error.message or not error.frames:
        return
    folders = list(takewhile(lambda folder: (folder / "__init__.py").is_file(), script.parents))
    if not folders or target.cwd / error.frames[-1].file != script:
        return
    root = folders[-1].parent
    module = ".".join(script.relative_to(root).with_suffix("").parts)
    there = "" if root == target.cwd else f"cd {quoted(str(root))} && "
    raise UsageError(
        what=f"{script.name} is a module of the package {module.partition('.')[0]}.",
        why=f"Run as a script of its own it cannot import from that: {error.message}.",
        next=f"Run it as a module, its arguments behind it: {there}triage run -m {module}",
    )


def check_program(target: Target) -> None:
    """Raise UsageError where what was run, and started no Python that we got into, does not even say that it is one."""
    program = target.command[0]
    if program == target.python or _says_python(program):
        return
    raise UsageError(
        what=f"{Path(program).name} started no Python.",
        why=f"{program} was run, and no Python that it started loaded our sitecustomize.",
        next="Name the script that is to be run, such as: triage run train.py",
    )


def _says_python(program: str) -> bool:
    """Whether it is a Python interpreter, or a script of one by its first line."""
    return _is_python(Path(program).name) or says_python(Path(program))


def run_python(
    python: str, arguments: Sequence[str], timeout: float, cancel: Cancel | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a few lines in the target interpreter and return what it printed. Raises TargetError where it cannot run."""
    with tempfile.TemporaryDirectory(prefix="triage-ask-") as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        words = (python, *arguments)
        env = {
            "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "cache"),
            **os.environ,
        }  # torch makes one where it is imported
        done = launch(Launch(words, Path.cwd(), env, out, err, timeout, grace=0.5), cancel)
        texts = text_of(out), text_of(err)
    if done.timed_out:
        raise TargetError(
            what=f"{python} did not answer within {timeout:.0f} s.",
            why="The target interpreter is stuck or very slow to start.",
            next=f"Try: {python} -c 'import torch'",
        )
    if done.code is None:
        raise TargetError(
            what=f"{python} cannot be run.",
            why=done.error or "It could not be started.",
            next="Name a working interpreter with --python.",
        )
    return subprocess.CompletedProcess(words, done.code, *texts)
