"""A program that raises nothing and that Dynamo makes wrong: what it tells shows it, in nothing but a file, or beside a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
# What Dynamo takes for a deque of no length keeps everything (pytorch/pytorch#195029).
MODEL = """
from collections import deque

import torch


class Smoothed(torch.nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.keep = keep

    def forward(self, x):
        recent = deque(maxlen=self.keep)
        total = x.new_zeros(())
        for row in x.unbind(0):
            if len(recent) > 0:
                row = row + sum(recent) / len(recent)
            recent.append(row)
            total = total + row.sum()
        return total


model = torch.compile(Smoothed(0))
"""
KEEPS_A_TABLE = (
    "import json\nfrom pathlib import Path\n"
    + MODEL
    + """
with open("history.csv", "w") as history:
    history.write("step,total\\n")
    for step in range(3):
        total = model(torch.arange(6.0).view(3, 2) + step)
        history.write(f"{step},{total.item():.3f}\\n")
Path("summary.json").write_text(json.dumps({"total": round(total.item(), 3), "steps": 3}))
print("done")
"""
)
TELLS_TIMES = (
    "import os\nimport time\n"
    + MODEL
    + """
for step in range(3):
    began = time.perf_counter()
    total = model(torch.arange(6.0).view(3, 2) + step)
    print(f"[{os.getpid()}] step {step}: total {total.item():.3f}, {time.perf_counter() - began:.3f} s")
"""
)


def test_results_that_stand_in_files_alone_are_compared(tmp_path: Path) -> None:
    command = Command(tmp_path)
    done = command("run", "--out", "out", command.script(KEEPS_A_TABLE))
    report = command.report()
    assert report["verdict"]["stage"] == "dynamo" and report["verdict"]["symptom"] == "wrong_result", done.stderr
    assert (
        "it writes `total: " in report["signature"]["message"] and "into history.csv" in report["signature"]["message"]
    )
    made = report["reproducer"]
    assert made["verified"] and made["verified_runs"] == 3
    text = (command.out / "repro.py").read_text()
    assert "deque(maxlen=" in text and "open(" not in text and "write_text" not in text


def test_results_that_stand_beside_times_are_compared(tmp_path: Path) -> None:
    command = Command(tmp_path)
    done = command("run", "--out", "out", command.script(TELLS_TIMES))
    report = command.report()
    assert report["verdict"]["stage"] == "dynamo" and report["verdict"]["symptom"] == "wrong_result", done.stderr
    assert "step 0: total " in report["signature"]["message"]
    made = report["reproducer"]
    assert made["verified"] and made["verified_runs"] == 3
    text = (command.out / "repro.py").read_text()
    assert "deque(maxlen=" in text and "perf_counter" not in text and "getpid" not in text
