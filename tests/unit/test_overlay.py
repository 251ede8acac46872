"""A program run with another text in the place of some of its files. Real interpreters; no torch is needed for that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from triage.probe.staging import SITE

MAIN = """import sys
import part
print("old script", __name__, __file__, sys.argv, sys.path[0], part.VALUE, sorted(globals()))
"""
CHANGED = MAIN.replace("old script", "new script")
PART, CHANGED_PART = 'VALUE = "old part"\n', 'def f():\n    return 1\nVALUE = "new part"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "channel").mkdir()
    for name, text in (("main.py", MAIN), ("part.py", PART), ("main.new", CHANGED), ("part.new", CHANGED_PART)):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *words: str, stdin: str = "", **overlay: str) -> subprocess.CompletedProcess[str]:
    config = {
        "channel": str(folder / "channel"),
        "rung": None,
        "overlay": {str(folder / f"{name}.py"): str(folder / new) for name, new in overlay.items()},
    }
    env = {**os.environ, "PYTHONPATH": str(SITE), "TRIAGE_AGENT": json.dumps(config), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, cwd=folder, env=env, input=stdin, capture_output=True, text=True, timeout=60)


def test_the_script_is_started_as_python_starts_it(folder: Path):
    plain = run(folder, sys.executable, "-u", "-Wignore", "./main.py", "a", "-m")
    changed = run(folder, sys.executable, "-u", "-Wignore", "./main.py", "a", "-m", main="main.new")
    assert plain.stdout.startswith("old script"), plain.stderr
    assert changed.stdout == plain.stdout.replace("old script", "new script")
    assert changed.stderr == ""
    assert (folder / "main.py").read_text() == MAIN


def test_its_status_and_its_input_are_its_own(folder: Path):
    (folder / "main.new").write_text("import sys\nprint(sys.stdin.read())\nsys.exit(7)\n")
    done = run(folder, sys.executable, "main.py", stdin="a line", main="main.new")
    assert (done.stdout, done.returncode) == ("a line\n", 7)


def test_a_link_is_followed_for_the_path_as_python_does(folder: Path):
    (folder / "links").mkdir()
    (folder / "links" / "run.py").symlink_to(folder / "main.py")
    done = run(folder, sys.executable, "links/run.py", main="main.new")
    assert done.stdout.startswith("new script") and f" {folder.resolve()} old part" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["-m", "part"], ""),
        (["-c", "import part"], ""),
        (["-Bc", "import part"], ""),
        (["-"], "import part"),
        ([], "import part"),
    ],
)
def test_modules_are_changed_however_python_is_started(folder: Path, words: list[str], stdin: str):
    (folder / "part.new").write_text('print("new part")\n')
    done = run(folder, sys.executable, *words, stdin=stdin, part="part.new")
    assert done.stdout == "new part\n", done.stderr


def test_bytecode_of_the_old_text_is_not_used(folder: Path):
    subprocess.run(
        [sys.executable, "-c", "import part"], cwd=folder, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    )
    assert list(folder.glob("__pycache__/part*.pyc"))
    kept = {path: path.read_bytes() for path in folder.glob("__pycache__/*")}
    done = run(folder, sys.executable, "main.py", part="part.new")
    assert "new part" in done.stdout
    assert {path: path.read_bytes() for path in folder.glob("__pycache__/*")} == kept


def test_inspect_and_tracebacks_show_what_is_run(folder: Path):
    (folder / "main.new").write_text(
        "import inspect, linecache, part, traceback\nlinecache.checkcache()\n"
        "def g():\n    return 'new text'\nprint(inspect.getsource(part.f) + inspect.getsource(g))\n"
        "try:\n    assert g() == 1\nexcept AssertionError:\n    traceback.print_exc()\n"
    )
    done = run(folder, sys.executable, "main.py", main="main.new", part="part.new")
    assert done.stdout == "def f():\n    return 1\ndef g():\n    return 'new text'\n\n"
    assert "    assert g() == 1\n" in done.stderr


def test_spawned_processes_run_the_changed_script(folder: Path):
    (folder / "main.new").write_text(
        "import multiprocessing\ndef work(queue):\n    queue.put('new child')\n"
        "if __name__ == '__main__':\n    context = multiprocessing.get_context('spawn')\n    queue = context.Queue()\n"
        "    child = context.Process(target=work, args=(queue,))\n    child.start()\n    print(queue.get(timeout=30))\n"
        "    child.join()\n"
    )
    assert run(folder, sys.executable, "main.py", main="main.new").stdout == "new child\n"


@pytest.mark.parametrize("command", [[sys.executable, "-m", "pytest"], [str(Path(sys.executable).with_name("pytest"))]])
def test_files_of_tests_are_changed_where_pytest_reads_them(folder: Path, command: list[str]):
    (folder / "test_it.py").write_text("def test_it():\n    assert 1 == 2\n")
    (folder / "it.new").write_text("def test_it():\n    assert 1 == 1\n")
    words = [*command, "-q", "-p", "no:cacheprovider", "test_it.py"]
    assert run(folder, *words).returncode == 1
    assert run(folder, *words, test_it="it.new").returncode == 0
