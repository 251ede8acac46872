"""docs/ci.md: its commands parse, its rendering commands run on a real report, its YAML is YAML."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from triage.cli.app import app
from triage.cli.words import arrange

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
COMMANDS = sorted({found.strip() for found in re.findall(r"(?:^ *|'|\brun: )(triage [^\n;|>]+)", PAGE, re.MULTILINE)})


def test_there_are_commands() -> None:
    assert {shlex.split(line)[1] for line in COMMANDS} == {"run", "report", "compare", "verify"}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_parses(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command: Any = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    called: list[dict[str, Any]] = []
    monkeypatch.setattr(command.commands[words[0]], "callback", lambda **given: called.append(given))
    command.main(args=arrange(command, words), prog_name="triage", standalone_mode=False)
    assert len(called) == 1


def test_the_step_that_renders_leaves_what_the_next_ones_take(tmp_path: Path) -> None:
    """The workflow's own shell, with a `triage run` that has been: its report is there, its exit status 0."""
    step = re.search(r"run: \|\n(.*?)\n      - if", PAGE, re.DOTALL)
    shutil.copytree(ROOT / "tests" / "golden" / "inductor_exception", tmp_path / "triage-run")
    triage = f'triage() {{ [ "$1" = run ] && return 0; "{sys.executable}" -m triage "$@"; }}\n'
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "GITHUB_OUTPUT": str(tmp_path / "output")}
    script = f"set -e\n{triage}{step.group(1)}"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True, timeout=60)
    assert (tmp_path / "output").read_text() == "status=0\n"
    golden = tmp_path / "triage-run"
    assert (tmp_path / "comment.md").read_text() == (golden / "comment.md").read_text()
    assert (tmp_path / "triage.sarif").read_text() == (golden / "report.sarif").read_text()


def test_the_yaml_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    *workflows, hooks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    assert len(workflows) == 2
    for workflow in workflows:
        assert [step for step in workflow["jobs"]["triage"]["steps"] if not {"uses", "run"} & set(step)] == []
    assert hooks["repos"][0]["hooks"][0]["pass_filenames"] is False


def test_the_action_takes_what_the_page_gives_it() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    workflow = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    given = workflow["jobs"]["triage"]["steps"][-1]["with"]
    needed = {name for name, each in action["inputs"].items() if each.get("required")}
    assert needed <= set(given) <= set(action["inputs"])
    told = re.search(r"Its inputs are (.*?), its outputs (.*?)\.", PAGE)
    named = [re.findall(r"`(\w+)`", words) for words in told.groups()]
    assert named == [list(action["inputs"]), list(action["outputs"])]
