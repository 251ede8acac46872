"""Which interpreter, which command."""

import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from triage.errors import TargetError, UsageError
from triage.model.outcome import Frame, RaisedException
from triage.probe.target import (
    Target,
    check_named,
    check_package,
    check_program,
    check_syntax,
    find_python,
    make_target,
    run_python,
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("pass\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text("pass\n")
    return tmp_path


def environment(folder: Path, *programs: str) -> str:
    """A directory with these programs in `bin`; the path of its python."""
    for name in ("python", *programs):
        program = folder / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (folder / "pyvenv.cfg").touch()
    return str(folder / "bin" / "python")


def test_the_interpreter_of_the_active_environment(tmp_path: Path) -> None:
    own = environment(tmp_path / "venv")
    assert find_python(None, {"VIRTUAL_ENV": str(tmp_path / "venv"), "CONDA_PREFIX": "/opt/conda"}) == own
    assert find_python(None, {"CONDA_PREFIX": str(tmp_path / "venv")}) == own
    assert find_python(None, {"VIRTUAL_ENV": "/no/such/venv"}) == sys.executable
    assert find_python(None, {}) == sys.executable


def test_a_link_that_makes_a_venv_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    assert find_python(str(tmp_path / "python"), {}) == str(tmp_path / "python")


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(TargetError, match="no interpreter"):
        find_python("/no/such/python", {})


def made(
    place: Path, *words: str, module: str | None = None, raw: bool = False, python: str = "/venv/bin/python"
) -> Target:
    return make_target(words, module=module, raw=raw, python=python, cwd=place)


def test_a_script_with_arguments(place: Path) -> None:
    found = made(place, "train.py", "--lr", "1")
    assert found.command == ("/venv/bin/python", "train.py", "--lr", "1")
    assert (found.script, found.label, found.cwd) == (place / "train.py", "train", place)


def test_a_directory_that_is_a_program(place: Path) -> None:
    found = made(place, "package")
    assert (found.command, found.script) == (("/venv/bin/python", "package"), place / "package" / "__main__.py")


@pytest.mark.parametrize("start", [b"", b"#!/usr/bin/env python3\n"])
def test_an_archive_that_is_a_program(place: Path, start: bytes) -> None:
    (place / "tool.pyz").write_bytes(start)
    with zipfile.ZipFile(place / "tool.pyz", "a") as archive:
        archive.writestr("__main__.py", "def broken(:")  # what Python says of it is told by its run
    found = made(place, "tool.pyz", "--strict", python=sys.executable)
    assert (found.command, found.label) == ((sys.executable, "tool.pyz", "--strict"), "tool")
    assert found.script is None
    check_syntax(found)


def test_another_archive_is_no_program(place: Path) -> None:
    with zipfile.ZipFile(place / "data.zip", "w") as archive:
        archive.writestr("train.py", "\0")
    with pytest.raises(UsageError, match="not a Python script"):
        made(place, "data.zip")


def test_a_module(place: Path) -> None:
    found = made(place, "x", module="package.tool")
    assert (found.command, found.label, found.script) == (("/venv/bin/python", "-m", "package.tool", "x"), "tool", None)


@pytest.mark.parametrize("name", ["python", "python3", "python3.11"])
def test_python_in_a_whole_command_is_the_targets(place: Path, name: str) -> None:
    found = made(place, name, "-O", "train.py", raw=True)
    assert (found.command, found.script) == (("/venv/bin/python", "-O", "train.py"), place / "train.py")


def test_programs_beside_the_interpreter_go_before_those_on_path(place: Path) -> None:
    python = environment(place / "venv", "torchrun", "pythonify")
    assert made(place, "torchrun", "train.py", raw=True, python=python).command[0] == str(
        place / "venv" / "bin" / "torchrun"
    )
    assert made(place, "pythonify", raw=True, python=python).command[0] == str(place / "venv" / "bin" / "pythonify")
    assert made(place, "sh", "run.sh", raw=True, python=python).command[0].endswith("/sh")


@pytest.mark.parametrize("program", ["python", "torchrun"])
def test_a_program_of_another_environment_brings_its_interpreter_along(place: Path, program: str) -> None:
    other = environment(place / "other", "torchrun")
    found = made(place, str(Path(other).with_name(program)), "train.py", raw=True)
    assert found.python == other and found.command == (str(Path(other).with_name(program)), "train.py")
    assert made(place, "/bin/sh", "run.sh", raw=True).python == "/venv/bin/python"


def test_a_program_needs_no_dashes_before_it(place: Path) -> None:
    python = environment(place / "venv", "torchrun", "train")
    for words in [("torchrun", "train.py"), ("python3", "-m", "package.tool")]:
        assert made(place, *words, python=python) == made(place, *words, raw=True, python=python)
    (place / "train").write_text("")
    assert made(place, "train", python=python).script == place / "train"
    with pytest.raises(UsageError, match="There is no script"):
        made(place, "no-such-command", python=python)


def test_a_command_that_is_not_there(place: Path) -> None:
    with pytest.raises(UsageError, match="was not found"):
        made(place, "no-such-command", raw=True)


def refusal(place: Path, *words: str, python: str = sys.executable) -> str:
    with pytest.raises(UsageError) as told:
        made(place, *words, python=python)
    return str(told.value)


def test_a_name_that_was_mistyped_is_told_with_what_is_like_it(place: Path) -> None:
    assert refusal(place, "trian.py").endswith("Did you mean train.py?")
    assert refusal(place, "package/__mian__.py").endswith("Did you mean package/__main__.py?")
    assert "-m package.module" in refusal(place, "other.py")
    assert "and for a program of that name on PATH" in refusal(place, "pytset", "tests")


def test_what_is_no_file_is_told_with_what_may_have_been_meant(place: Path) -> None:
    (place / "package" / "train.py").touch()
    told = refusal(place, "LR=0.1", "python", "train.py")
    assert told.endswith("Set variables before the whole command: LR=0.1 triage ...")
    assert refusal(place, "python train.py --lr 1").endswith("Leave out the quotes: python train.py --lr 1")
    assert refusal(place, "package.train").endswith("with -m: -m package.train")


@pytest.mark.parametrize("first", ["#!/bin/sh -e", "#! /usr/bin/env sh", "#!/bin/sh -'"])
def test_a_script_of_a_shell_is_run_by_it(place: Path, first: str) -> None:
    (place / "train.sh").write_text(f"{first}\npython train.py\n")
    found = made(place, "./train.sh", "--lr", "1")
    assert (found.label, found.script) == ("train", None)
    assert found.command == (*first.removeprefix("#!").split(), "./train.sh", "--lr", "1")
    (place / "bare.sh").write_text("python train.py\n")
    assert Path(made(place, "bare.sh").command[0]).name == "sh"
    (place / "tool").write_text("#!/opt/python3.11/bin/python3.11\npass\n")
    assert made(place, "./tool").script == place / "tool"


def test_a_module_of_a_package_that_is_run_as_a_script_is_wrong_usage(place: Path) -> None:
    script = place / "package" / "sub" / "train.py"
    script.parent.mkdir()
    for module in (script, place / "package" / "__init__.py", script.with_name("__init__.py")):
        module.touch()
    target = made(place, "package/sub/train.py")
    message = "attempted relative import with no known parent package"
    error = RaisedException("ImportError", message, (Frame("package/sub/train.py", 1, "<module>"),))
    with pytest.raises(UsageError) as told:
        check_package(target, error)
    assert told.value.next.endswith(": triage run -m package.sub.train")
    check_package(target, replace(error, frames=(Frame("other.py", 1, "<module>"),)))
    check_package(target, None)


@pytest.mark.parametrize(
    "words",
    [("python", "trian.py"), ("python3", "-u", "-W", "error", "trian.py", "train.py"), (sys.executable, "trian.py")],
)
def test_a_script_that_python_is_given_and_that_is_not_there(place: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"There is no script trian\.py"):
        made(place, *words, raw=True, python=sys.executable)


@pytest.mark.parametrize("words", [("-m", "trian"), ("-uc", "1"), ("-",), ("-V",), ("package",), ()])
def test_python_that_is_given_no_file_of_that_name_is_run(place: Path, words: tuple[str, ...]) -> None:
    assert made(place, "python", *words).command == ("/venv/bin/python", *words)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("python", "train.py", "-c", "no"), "pass\n"),
        (("python", "-c", "a\nb", "-c", "no"), "a\nb"),
        (("python", "-W", "error", "-Ic", "a", "5"), "a"),
        (("python", "-Oca"), "a"),
        (("python", "-", "5"), "from input\n"),
        (("python", "-u"), "from input\n"),
        (("python", "-m", "package"), None),
        (("torchrun", "-c", "no"), None),
    ],
)
def test_the_text_of_a_program(place: Path, words: tuple[str, ...], text: str | None) -> None:
    environment(place, "torchrun")
    (place / "input").write_text("from input\n")
    target = make_target(words, module=None, raw=True, python=str(place / "bin" / "python"), cwd=place)
    assert replace(target, stdin=place / "input").text() == text


def test_a_directory_that_may_not_be_entered(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refused)
    assert "cannot be read" in refusal(place, "shut/train.py")


def test_a_program_that_is_no_python_is_told_by_its_path(place: Path) -> None:
    with pytest.raises(UsageError, match=r"sh started no Python(.|\n)*/sh was run"):
        check_program(made(place, "sh", raw=True))
    launcher = place / "launcher"
    launcher.write_text("#!/usr/bin/env python3\n")
    for program in (str(launcher), "/venv/bin/python", "/other/bin/python3"):
        check_program(Target("/venv/bin/python", (program, "x"), place))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("launch", "trian.py"), "python: can't open file '{place}/trian.py': [Errno 2] No such file or directory"),
        (("pytest", "-q", "trian.py"), "ERROR: file or directory not found: trian.py"),
    ],
)
def test_a_script_that_a_launcher_does_not_find_is_wrong_usage(place: Path, words: tuple[str, ...], said: str) -> None:
    launched = Target("/venv/bin/python", words, place)
    with pytest.raises(UsageError, match=r"There is no script trian\.py(.|\n)*Did you mean train\.py"):
        check_named(launched, f"a line\n{said.format(place=place)}\nanother\n")
    check_named(launched, "python: can't open file '/elsewhere/trian.py': [Errno 2] No such file or directory")


def target(place: Path, source: str) -> Target:
    (place / "x.py").write_text(source)
    return Target(sys.executable, (sys.executable, "x.py"), place, place / "x.py")


@pytest.mark.parametrize("source", ["x = (\n", "def f():\nreturn 1\n", "# -*- coding: nonsense -*-\n"])
def test_a_syntax_error_is_told_before_anything_is_run(place: Path, source: str) -> None:
    with pytest.raises(UsageError, match="not valid Python"):
        check_syntax(target(place, source))


def test_of_a_file_in_another_encoding_the_line_is_told(place: Path) -> None:
    latin = target(place, "")
    (place / "x.py").write_bytes(b'import torch\nprint("caf\xe9")\n')
    with pytest.raises(UsageError, match=r"line 2: the byte 0xe9 is not utf-8, and no other encoding is declared\n"):
        check_syntax(latin)
    latin.script.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"is not valid Python: invalid or missing encoding declaration\n"):
        check_syntax(latin)


def test_what_parses_is_not_run(place: Path) -> None:
    check_syntax(target(place, "raise SystemExit(3)\n"))
    check_syntax(Target("python", ("torchrun", "x.py"), place, place / "missing.py"))


def test_the_target_answers() -> None:
    done = run_python(
        sys.executable, ["-c", "import sys; print('out'); sys.stderr.write('err'); sys.exit(3)"], timeout=20
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err")
    assert (
        run_python(sys.executable, ["-c", "import os; print(os.environ['HOME'])"], 20).stdout.strip()
        == os.environ["HOME"]
    )


def test_what_a_target_that_is_asked_caches_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["-c", "import os; print(os.environ['TORCHINDUCTOR_CACHE_DIR'])"]
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    folder = Path(run_python(sys.executable, names, 20).stdout.strip()).parent
    assert folder.name.startswith("triage-ask-") and not folder.exists()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    assert run_python(sys.executable, names, 20).stdout.strip() == str(tmp_path)


def test_a_target_that_does_not_answer() -> None:
    with pytest.raises(TargetError, match="did not answer"):
        run_python(sys.executable, ["-c", "import time; time.sleep(60)"], timeout=1)
    with pytest.raises(TargetError, match="cannot be run"):
        run_python("/no/such/python", [], timeout=1)
