"""`triage` as a command in a folder of its own, for tests that look at what it leaves behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

TAG = "TRIAGE_TEST_COMMAND"
END_SECONDS = 30.0  # for what was killed to end


class Command:
    """`triage WORDS` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"{os.getpid()}-{folder.name}"
        self.out = folder / "out"

    def script(self, source: str, name: str = "train.py") -> str:
        (self.folder / name).write_text(source)
        return name

    def start(self, *words: str, stdin: Path | None = None, **env: str) -> "subprocess.Popen[str]":
        surroundings = {
            **os.environ,
            "VIRTUAL_ENV": sys.prefix,
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "200",
            TAG: self.tag,
            **env,
        }
        with Path(stdin or os.devnull).open("rb") as source:
            return subprocess.Popen(
                [sys.executable, "-m", "triage", *words],
                cwd=self.folder,
                env=surroundings,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

    def __call__(self, *words: str, stdin: Path | None = None, **env: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*words, stdin=stdin, **env)
        out, err = process.communicate(timeout=280)
        assert "Traceback" not in err, err
        assert not left_over(self.tag)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def report(self) -> dict:
        assert (self.out / "report.md").is_file()
        found: dict = json.loads((self.out / "report.json").read_text())
        return found


def left_over(tag: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{TAG}={tag}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [line for line in found if line]


def nobody_left(tag: str) -> None:
    """Assert that what was killed ends with all that it started."""
    deadline = time.monotonic() + END_SECONDS
    while left_over(tag) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left_over(tag)
