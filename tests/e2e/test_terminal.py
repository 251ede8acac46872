"""What a person sees on a terminal while `triage run` works: each step, the stage and the first reproducer as soon as known."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PROGRAM = """
import torch


def whiten(signal):
    spectrum = torch.fft.rfft(signal)
    return torch.nan_to_num(spectrum / spectrum.abs()).real


torch.compile(whiten)(torch.ones(8))
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WORDS = (
    "running the script as it is",
    "passes",  # the rungs below, as their runs end
    "stage: decomp_partition, the error names torch.nan_to_num",
    "reducing",
    "not verified yet",
    "╭─ stage: decomp_partition",
)


def on_a_terminal(*words: str, cwd: Path) -> str:
    """All that a command writes to a terminal of its own, without what moves the cursor."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": "160", "LINES": "50", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "triage", *words], cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        written = b""
        try:
            while part := os.read(ours, 65536):
                written += part
        except OSError:  # the other end was closed: Linux says so by EIO
            pass
        os.close(ours)
        process.wait()
    return CONTROL.sub("", written.decode("utf-8", "replace"))


def test_each_step_is_shown_while_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    text = on_a_terminal("run", "--out", "out", "train.py", cwd=tmp_path)
    places = [text.find(words) for words in WORDS]
    assert -1 not in places, dict(zip(WORDS, places, strict=True))
    assert places[2] < places[4] < places[5]
    events = [json.loads(line) for line in (tmp_path / "out" / "journal.jsonl").read_text().splitlines()]
    assert not [event for event in events if event["kind"] == "listener_failed"]
