"""The GitHub Action and the workflow of docs/ci.md, step by step as GitHub takes them, on programs that fail and that pass.

`pip` and `gh` are written down in the place of being run: the one would download, the other would write to GitHub.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from github_runner import Job

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
PASSES = "import torch\n\nprint(torch.compile(lambda x: x.sin() + 1, backend='aot_eager')(torch.ones(3)))\n"
WORKFLOW = next(
    text
    for text in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    if "uses: ./" not in text and "gh pr comment" in text
)


@dataclass
class Machine:
    """A runner's: its folders, its commands, and what was asked of the ones that reach out of it."""

    workspace: Path
    job: Job
    used: list[tuple[str, dict[str, str]]]

    def asked(self, name: str) -> list[str]:
        file = self.workspace.parent / f"{name}.txt"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def comment(self) -> str:
        file = self.workspace.parent / "comment.txt"
        return file.read_text() if file.exists() else ""

    @property
    def summary(self) -> str:
        return (self.workspace.parent / "summary.md").read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    workspace, commands = tmp_path / "work", tmp_path / "bin"
    for folder in (workspace, commands, tmp_path / "temp"):
        folder.mkdir()
    (tmp_path / "summary.md").touch()
    scripts = {
        "triage": f'exec "{sys.executable}" -m triage "$@"',
        "pip": f'echo "$@" >> "{tmp_path}/pip.txt"',
        "gh": f'echo "$@" >> "{tmp_path}/gh.txt"; cat "${{!#}}" > "{tmp_path}/comment.txt"',
    }
    for name, body in scripts.items():
        (commands / name).write_text(f"#!/bin/bash\n{body}\n")
        (commands / name).chmod(0o755)
    environ = {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_WORKSPACE": str(workspace),
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }
    used: list[tuple[str, dict[str, str]]] = []
    github = {"token": "not-a-token", "event": {"number": "7"}, "action_path": str(ROOT)}
    job = Job(workspace, {"github": github}, environ, lambda name, given: used.append((name, given)))
    return Machine(workspace, job, used)


def action(machine: Machine, **inputs: str) -> None:
    """The steps of `action.yml`, its defaults beside what is given."""
    tree: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    defaults = {name: machine.job.filled(str(each.get("default", ""))) for name, each in tree["inputs"].items()}
    assert not set(inputs) - set(defaults)
    machine.job.contexts["inputs"] = {**defaults, **inputs}
    machine.job.run(tree["runs"]["steps"])


def failing(machine: Machine) -> None:
    shutil.copy(ROOT / "reproducers" / "decomp_nan_to_num_spectrum" / "script.py", machine.workspace / "train.py")


@pytest.mark.quick
def test_the_action_tells_of_a_program_that_fails(machine: Machine) -> None:
    failing(machine)
    action(machine, script="train.py", args="--steps 2", budget="400")
    assert machine.asked("pip") == [f"install --quiet {ROOT}"]
    assert machine.job.failed, machine.job.said
    assert [line.split()[:3] for line in machine.asked("gh")] == [["pr", "comment", "7"]]
    assert "aten.nan_to_num" in machine.comment and "torch.compile(f" in machine.comment
    assert machine.summary == machine.comment
    ((name, given),) = machine.used
    assert name.startswith("github/codeql-action/upload-sarif@")
    (result,) = json.loads(Path(given["sarif_file"]).read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], result["ruleId"]) == ("train.py", "torch-compile/decomp_partition")
    assert "::error::triage run ended with status 0" in machine.job.said


def test_the_action_is_quiet_where_nothing_fails(machine: Machine) -> None:
    (machine.workspace / "train.py").write_text(PASSES)
    action(machine, script="train.py", budget="400")
    assert not machine.job.failed, machine.job.said
    assert machine.asked("gh") == [] and machine.job.contexts["steps"]["triage"]["outputs"]["status"] == "1"
    (_, given) = machine.used[0]  # an upload without results closes what was open
    assert json.loads(Path(given["sarif_file"]).read_text())["runs"][0]["results"] == []


def test_a_script_that_is_not_there_is_red_and_no_comment(machine: Machine) -> None:
    action(machine, script="gone.py")
    assert machine.job.failed and machine.asked("gh") == [] and machine.used == []


def test_the_workflow_of_the_docs_does_the_same(machine: Machine) -> None:
    failing(machine)
    machine.job.run(yaml.safe_load(WORKFLOW)["jobs"]["triage"]["steps"])
    assert machine.job.failed, machine.job.said
    assert [line.split()[:3] for line in machine.asked("gh")] == [["pr", "comment", "7"]]
    assert "aten.nan_to_num" in machine.comment
    names = [name.partition("@")[0] for name, _ in machine.used]
    assert names == ["actions/checkout", "actions/setup-python", "github/codeql-action/upload-sarif"]
    assert (machine.workspace / machine.used[-1][1]["sarif_file"]).is_file()
