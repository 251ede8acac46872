"""What README and the tour show is what is printed: each of their commands is run, in their order, in one folder."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documented import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("shown"), pytest.mark.timeout(900)]

TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"```console\n\$ (triage [^\n]*)\n(.*?)```", re.DOTALL)
PROGRAM = re.compile(r"```python\n# (\w+\.py)\n(.*?)```", re.DOTALL)
OUTPUTS = dict(SHOWN.findall(TOUR))
DEMO = next(iter(OUTPUTS))

# Beside one another run searching, confirming and trying, and what one finds may spare another: those lines differ.
PROGRESS = re.compile(r"\[s\] (?!as_is: exception|stage:|verified in fresh processes|way round:)")
CHANGES = (
    (re.compile(r"(script|phases|slow)-\d{8}-\d{6}(-\d+)?"), r"\1-RUN"),
    (re.compile(r"^\[ *[\d.]+ s\]"), "[s]"),
    (re.compile(r"after [\d.]+ s"), "after s"),
    (re.compile(r"^│ time +\d+ s +│"), "time"),
    (re.compile(r"\d+ of \d+ fail"), "N of N fail"),
    (re.compile(r"torch [\d.]+(\+\w+)?"), "torch V"),
    (re.compile(r"[\d.]+ s of compiling"), "s of compiling"),
    (re.compile(r"^compiling .*|^first call .*"), "times"),  # dearest first: their order is that of the times
    (re.compile(r" +\d+ (?:s|min|KiB)\b| +[\d.]+ MiB| +age +size"), ""),
    (re.compile(r"^x = torch\.ones\(\d+\)"), "x = torch.ones(N)"),  # enough of them for a vector of the processor
)


def shown(text: str) -> list[str]:
    """What every such run says, in order, without times, sizes and the run's name."""
    lines = []
    for line in text.splitlines():
        for pattern, word in CHANGES:
            line = pattern.sub(word, line)
        if line.strip() and not PROGRESS.match(line):
            lines.append(line.rstrip())
    times = lines.index("times") if "times" in lines else len(lines)
    return lines[:times] + lines[times:][-2:]  # how many lines the times fill hangs on their digits


def from_the_box(text: str) -> str:
    return text[text.index("╭") :] if "╭" in text else text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled scripts and the programs of the tour."""
    folder = tmp_path_factory.mktemp("tour")
    shutil.copytree(ROOT / "reproducers", folder / "reproducers")
    for name, text in PROGRAM.findall(TOUR):
        (folder / name).write_text(text)
    return folder


@functools.cache
def printed(line: str, folder: Path) -> str:
    """What a command prints. Those of the tour that look at a run follow it in its own order."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    env["TRIAGE_REPRODUCER_ONLY"] = "0"
    done = subprocess.run(line.split(), cwd=folder, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return (done.stderr if line.startswith("triage run") else "") + done.stdout


def test_there_is_something_to_compare() -> None:
    assert len(OUTPUTS) == 5 and len(PROGRAM.findall(TOUR)) == 2
    assert all(len(shown(output)) >= 4 for output in OUTPUTS.values())


def test_readme_shows_what_the_demo_prints(place: Path) -> None:
    assert shown(printed(DEMO, place)) == shown(dict(SHOWN.findall(README))[DEMO])


@pytest.mark.slow
def test_the_tour_shows_what_is_printed(place: Path) -> None:
    told = {line: shown(from_the_box(printed(line, place))) for line in OUTPUTS}
    assert told == {line: shown(output) for line, output in OUTPUTS.items()}
