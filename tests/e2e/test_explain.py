"""`triage explain` on programs that run: breaks, recompilations and cures found by running them, nothing of theirs touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Command
from four_breaks import FOUR_BREAKS, MENDED, lines_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def explained(command: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((command.out / "explain.json").read_text())
    assert (command.out / "explain.md").is_file()
    return found


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.quick
def test_four_breaks_and_a_recompilation_are_named_with_line_and_cure(command: Command) -> None:
    name = command.script(FOUR_BREAKS)
    before = sorted(path.name for path in command.folder.iterdir())
    done = command("explain", "--out", str(command.out), "--json", name)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == explained(command)
    assert sorted(path.name for path in command.folder.iterdir()) == sorted([*before, command.out.name])
    found = explained(command)
    assert_, item, numpy, printed, step = lines_of(
        FOUR_BREAKS, "assert torch", "item()", "tobytes", "print(", "@torch.compile"
    )
    breaks = {row["line"]: row for row in found["graph_breaks"]}
    assert sorted(breaks) == sorted([assert_, item, numpy, printed])
    assert all(row["file"] == name and row["id"] and row["source"] for row in breaks.values())
    cures = {assert_: "plain string", item: "capture_scalar_outputs", numpy: "torch operations", printed: "reorderable"}
    assert [line for line, words in cures.items() if words not in breaks[line]["cure"]] == []
    assert breaks[numpy]["skips_frame"] and len(breaks[printed]["called_from"]) == 2
    # What can be set from outside was, each in a run of its own; the program's text is nobody's to change.
    assert {line: (row["tried"], row["cure_works"], row["note"]) for line, row in breaks.items()} == {
        assert_: (None, None, None),
        item: ("capture_scalar_outputs", True, None),
        numpy: (None, None, None),
        printed: ("reorderable_logging_functions", True, None),
    }

    (row,) = [row for row in found["recompiles"] if row["function"] == "loss"]
    assert (row["file"], row["line"], row["count"], row["left"]) == (name, step, 3, 4)
    assert "size mismatch at index 1. expected 4, actual 5" in row["guard"]
    assert row["values"] == ["4", "5", "6", "7"]
    assert (row["tried"], row["cure_works"], row["remaining"]) == ("dynamic=True", True, 0)
    assert found["graphs"] > 4 and found["complete"]
    assert found["compile"]["seconds"] > 0 and found["compile"]["first_call"] > 0


def test_following_the_cures_leaves_one_graph_each(command: Command) -> None:
    done = command("explain", "--out", str(command.out), "--fullgraph", command.script(MENDED))
    assert done.returncode == 0, done.stderr
    found = explained(command)
    assert (found["graphs"], found["graph_breaks"], found["recompiles"]) == (2, [], [])
    assert found["fullgraph_passes"] is True
    assert "nothing to mend" in done.stdout


def test_fullgraph_says_what_fails_first(command: Command) -> None:
    done = command("explain", "--out", str(command.out), "--fullgraph", "--quiet", command.script(FOUR_BREAKS))
    assert (done.returncode, done.stdout.strip()) == (0, str(command.out))
    first = explained(command)["fullgraph"]
    assert first["line"] == lines_of(FOUR_BREAKS, "assert torch")[0]


def test_a_module_that_compiles_nothing_has_nothing_to_mend(command: Command) -> None:
    command.script("import sys, torch\nprint(sys.argv[1:])\n", "plain.py")
    done = command("explain", "--out", str(command.out), "-m", "plain", "--fullgraph")
    assert done.returncode == 0, done.stderr
    found = explained(command)
    assert found["command"] == ["-m", "plain", "--fullgraph"]
    assert found["notes"] == ["The program never called torch.compile."]
    assert (command.out / "logs" / "as_is.out.log").read_text().strip() == "['--fullgraph']"


def test_a_script_that_fails_is_triaged(command: Command) -> None:
    source = (
        "import torch\n@torch.compile(backend='eager', fullgraph=True)\ndef f(x):\n    print('here')\n    return x + 1\n"
        "f(torch.ones(2))\n"
    )
    done = command("explain", "--out", str(command.out), command.script(source))
    assert done.returncode == 0, done.stderr
    found = explained(command)
    assert not found["complete"] and found["incomplete_reason"].startswith(
        "the script fails: torch._dynamo.exc.Unsupported"
    )
    assert json.loads((command.out / "run" / "report.json").read_text())["verdict"]["stage"] == "dynamo"


def test_a_script_that_does_not_end_is_explained_as_far_as_it_came(command: Command) -> None:
    source = FOUR_BREAKS + "import time\ntime.sleep(600)\n"
    done = command("explain", "--out", str(command.out), "--timeout", "60", command.script(source))
    assert done.returncode == 5, done.stderr
    found = explained(command)
    assert len(found["graph_breaks"]) == 4
    assert found["incomplete_reason"].startswith("the script had not ended after 60 s")


def test_nothing_to_explain_is_wrong_usage(command: Command) -> None:
    done = command("explain")
    assert done.returncode == 2
    assert "triage explain train.py" in done.stderr


def test_what_a_restart_costs_is_told_where_it_is_asked(command: Command) -> None:
    source = "import torch\nf = torch.compile(lambda x: torch.sin(x) + 1)\nfor _ in range(3):\n    f(torch.ones(9))\n"
    done = command("explain", "--out", str(command.out), "--warm", command.script(source))
    assert done.returncode == 0, done.stderr
    told = explained(command)["compile"]
    assert 0 < told["warm_seconds"] < told["seconds"] and 0 < told["warm_first_call"] < told["first_call"]
    assert "found the caches of this one" in (command.out / "explain.md").read_text()
