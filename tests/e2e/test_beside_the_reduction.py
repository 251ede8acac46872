"""The script's own runs beside the reduction: what an interrupt leaves, and what happens where script and graph disagree."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command import Command, left_over

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

# Its first run fails in a decomposition (complex numbers); what later runs do stands above it. It has a log open, so that they
# begin at its beginning.
FAILS = """
import os, sys, time
import torch

if os.path.exists("ran") and not os.path.exists("go on"):
    {later}
open("ran", "w").close()
log = open("train.log", "w")


def whiten(signal):
    spectrum = torch.fft.rfft(signal)
    return torch.nan_to_num(spectrum / spectrum.abs()).real


whiten(torch.ones(8))
torch.compile(whiten)(torch.ones(8))
"""


@pytest.fixture
def triage(tmp_path: Path) -> Command:
    return Command(tmp_path)


def interrupted_at(words: str, process: subprocess.Popen[str], triage: Command) -> None:
    """Interrupt it once it says so: it ends as it should, and leaves nothing behind."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err, err
    time.sleep(1.0)
    assert not left_over(triage.tag)


def test_an_interrupt_keeps_what_the_graph_told_and_the_run_goes_on_from_there(triage: Command) -> None:
    triage.script(FAILS.format(later="time.sleep(200)"))
    process = triage.start("run", "--out", "out", "train.py")
    interrupted_at("verified in fresh processes", process, triage)
    report = triage.report()
    assert (report["complete"], report["incomplete_reason"]) == (False, "interrupted")
    assert report["verdict"]["stage"] == "decomp_partition"
    assert {row["rung"]: row["on"] for row in report["ladder"]}["uncompiled"] == "graph"
    assert any("had not ended" in note for note in report["notes"])
    assert "nan_to_num" in (triage.out / "repro.py").read_text()

    (triage.folder / "go on").touch()
    done = triage("run", "--resume", "out")
    assert done.returncode == 0, done.stderr
    report = triage.report()
    assert report["complete"] and report["reproducer"]["verified"] and report["reproducer"]["ops"] == 1
    assert {row["rung"]: row["on"] for row in report["ladder"]}["uncompiled"] == "script"
    assert not any("had not ended" in note for note in report["notes"])


def test_an_interrupt_ends_what_runs_ahead_of_the_first_failure(triage: Command) -> None:
    triage.script(
        "import time\nimport torch\n\nlog = open('train.log', 'w')\ntorch.compile(lambda x: x + 1)\ntime.sleep(200)\n"
    )
    process = triage.start("run", "--out", "out", "train.py")
    interrupted_at("uncompiled: running", process, triage)
    assert triage.report()["incomplete_reason"] == "interrupted"


def test_where_the_script_disagrees_with_its_graph_the_script_counts(triage: Command) -> None:
    triage.script(
        FAILS.format(later="pass") + "sys.exit('no weights here')\n"
    )  # where it is compiled it does not get there
    done = triage("run", "--out", "out", "train.py")
    assert done.returncode == 3, done.stderr
    report = triage.report()
    assert (report["verdict"]["stage"], report["reproducer"]) == ("script", None)
    assert {row["on"] for row in report["ladder"]} == {"script"}
    assert not (triage.out / "repro.py").exists()
    journal = [json.loads(line) for line in (triage.out / "journal.jsonl").read_text().splitlines()]
    assert [event["stage"] for event in journal if event["kind"] == "located"][-1] == "script"


def test_a_script_that_cannot_be_run_twice_has_the_stage_that_its_graph_told(triage: Command) -> None:
    triage.script(FAILS.format(later="sys.exit('there are results already')"))
    done = triage("run", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    report = triage.report()
    assert report["verdict"]["stage"] == "decomp_partition" and report["reproducer"]["verified"]
    assert {row["rung"]: row["on"] for row in report["ladder"]}["uncompiled"] == "graph"
    assert any("cannot be run twice" in note and "there are results already" in note for note in report["notes"])


# What it does before its first call of a compiled function is told by lines of a file; a copy of it passes that call uncompiled.
STARTS_SLOWLY = """
import random
import torch
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"
with open("begun", "a") as file:
    file.write("begun\\n")
print("the data are read")
random.seed(3)
weights = torch.randn(300, 300) @ torch.randn(300, 300)  # threads of OpenMP
{held}


@torch.compile
def step(x):
    return torch.relu(x @ weights).sum()


step(torch.randn(8, 300))
print("drawn", random.random())
"""


@pytest.mark.parametrize(("held", "begun"), [("", 2), ("log = open('train.log', 'w')", 6)])
def test_what_a_script_does_until_it_first_calls_a_compiled_function_is_done_once(
    triage: Command, held: str, begun: int
) -> None:
    """But for what should fail: its failure must come back. And not where two runs would write into one open file."""
    triage.script(STARTS_SLOWLY.format(held=held))
    done = triage("run", "--out", "out", "--no-reduce", "train.py")
    assert done.returncode == 0, done.stderr
    report = triage.report()
    rows = {row["rung"]: (row["on"], row["outcome"]) for row in report["ladder"]}
    assert rows["uncompiled"] == rows["aot_eager_decomp_partition"] == ("script", "ok"), rows
    assert len((triage.folder / "begun").read_text().split()) == begun
    said = (triage.out / "logs" / "uncompiled.out.log").read_text().splitlines()
    assert said == ["the data are read", f"drawn {random.Random(3).random()}"]
    assert not left_over(triage.tag)
