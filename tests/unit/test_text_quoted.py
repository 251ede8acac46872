"""A word of a command line that can be typed again wherever it is printed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from triage.model.text import quoted
from triage.report.wording import shell

PROGRAM = "\nimport torch\nprint('a', \"b\\\\n\")\t# é"


def test_a_program_of_several_lines_is_one_line():
    assert quoted("a b") == "'a b'" and quoted("plain") == "plain"
    assert shell(["python", "-c", "f()\ng('x')"]) == r"python -c $'f()\ng(\'x\')'"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("word", [PROGRAM, "x\x1b[0m", "no text\udc80"])
def test_a_shell_reads_what_was_there(word: str):
    made = subprocess.run(["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, check=True)
    assert "\n" not in quoted(word)
    assert made.stdout == word.encode(errors="surrogateescape")
