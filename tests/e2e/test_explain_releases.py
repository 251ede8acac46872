"""`triage explain` for a torch of 2024, which knows neither ids nor hints of graph breaks: gigabytes, so with `-m slow` only."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import Command
from four_breaks import FOUR_BREAKS, MENDED, lines_of
from releases import interpreter_with

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.version_info >= (3, 13), reason="torch 2.4 has no wheel for this Python"),
]


@pytest.fixture(scope="module")
def old_torch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with torch 2.4.1."""
    return interpreter_with(tmp_path_factory.mktemp("torch-2.4"), "torch==2.4.1", "numpy<2", "setuptools<80")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def test_breaks_and_a_recompilation_are_named_and_what_helps_is_told_from_what_does_not(
    command: Command, old_torch: str
) -> None:
    name = command.script(FOUR_BREAKS)
    done = command("explain", "--python", old_torch, "--out", str(command.out), "--json", name)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["environment"]["torch"].startswith("2.4.1")
    assert_, item, numpy, printed, step = lines_of(
        FOUR_BREAKS, "assert torch", "item()", "tobytes", "print(", "@torch.compile"
    )
    breaks = {row["line"]: row for row in found["graph_breaks"]}
    assert sorted(breaks) == sorted([assert_, item, numpy, printed])
    cures = {assert_: "plain string", item: "capture_scalar_outputs", numpy: "torch operations", printed: "take it out"}
    assert [line for line, words in cures.items() if words not in breaks[line]["cure"]] == []
    assert breaks[item]["cure_works"] is True
    # This release cannot print after the graph where the function that prints is inlined: said, because it was tried.
    assert breaks[printed]["cure_works"] is False and "debug_locals" in breaks[printed]["note"]
    (row,) = [row for row in found["recompiles"] if row["function"] == "loss"]
    assert (row["line"], row["tried"], row["cure_works"], row["remaining"]) == (step, "dynamic=True", True, 0)


def test_following_the_cures_leaves_one_graph_each(command: Command, old_torch: str) -> None:
    mended = MENDED.replace('    print("mean", x.mean())\n', "")  # taken out, as it says
    assert mended != MENDED
    done = command("explain", "--python", old_torch, "--out", str(command.out), "--fullgraph", command.script(mended))
    assert done.returncode == 0, done.stderr
    found = json.loads((command.out / "explain.json").read_text())
    assert (found["graphs"], found["graph_breaks"], found["recompiles"]) == (2, [], [])
    assert found["fullgraph_passes"] is True
