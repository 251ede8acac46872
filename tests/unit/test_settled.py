"""What is taken from what Python searches for garbage: nothing that anything could miss."""

import subprocess
import sys
from pathlib import Path

import pytest

BEGINS = r"""
import atexit, gc, importlib, os, sys
from triage.agent import boot

boot.load_agent()
imports, leaving = (importlib.import_module(f"{boot.PACKAGE}.hooks.{name}") for name in ("imports", "leaving"))
imports.after_import({"torch": lambda module: None})
last = leaving.Leaving(OURS)
last._first = True
at_first = gc.get_freeze_count()  # some Pythons begin with a few hundred
atexit.register(last.leave)


class Noisy:
    def __del__(self, write=os.write):  # at the end there is no other way to say it
        write(1, b"freed\n")


class Circle:
    def __init__(self, *held):
        self.held = held, self
"""


def run(folder: Path, program: str, *, ours: bool = False) -> str:
    """What it prints, beside a torch that defines one list."""
    (folder / "torch.py").write_text("defined = [[]]\n")
    text = BEGINS.replace("OURS", str(ours)) + f"sys.path.insert(0, {str(folder)!r})\n" + program
    words = [sys.executable, "-u", "-c", text]
    return subprocess.run(words, cwd=Path.cwd(), capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(
    ("before", "aside"),
    [
        ("", "True"),
        ("kept = Circle(Noisy())\ndel kept\nkept = Noisy()\n", "False"),
        ("gc.disable()\n", "False"),
        ("imports.settled.times_count()\n", "False"),
        ("import filelock\nkept = Circle(filelock.UnixFileLock('lock'))\n", "True"),
        ("import filelock\nkept = Circle(filelock.SoftFileLock('lock'))\n", "False"),
    ],
)
def test_what_torch_defines_is_set_aside_where_nothing_would_notice(tmp_path: Path, before: str, aside: str) -> None:
    printed = run(tmp_path, before + "import torch\nprint(gc.get_freeze_count() > at_first)\ngc.collect()\n")
    assert aside in printed.splitlines()
    assert printed.count("freed") == before.count("Noisy")


@pytest.mark.parametrize("ours", [False, True])
def test_the_end_of_a_program_frees_what_has_a_last_word(tmp_path: Path, ours: bool) -> None:
    assert run(tmp_path, "import torch\nkept = Circle(Noisy())\n", ours=ours) == "freed\n"


@pytest.mark.parametrize("opened", ["early", "late"])
def test_files_are_written_out_whenever_they_were_opened(tmp_path: Path, opened: str) -> None:
    lines = ["import torch", f"kept = Circle(open({str(tmp_path / 'log')!r}, 'w'))"]
    rest = "kept.held[0][0].write('all of it')\nprint(gc.get_freeze_count() > at_first)\n"
    assert run(tmp_path, "\n".join(lines if opened == "late" else lines[::-1]) + "\n" + rest, ours=True) == "True\n"
    assert (tmp_path / "log").read_text() == "all of it"


def test_a_program_that_died_still_writes_out_a_file_of_before(tmp_path: Path) -> None:
    lines = f"kept = open({str(tmp_path / 'log')!r}, 'w')\nimport torch\nkept.write('all of it')\n"
    dies = "last._died = True\nleaving.os._exit = lambda status, end=leaving.os._exit: end(0)\n"
    run(tmp_path, lines + dies)
    assert (tmp_path / "log").read_text() == "all of it"
