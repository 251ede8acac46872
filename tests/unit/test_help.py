"""`triage --help` is quick because it loads nothing heavy: asserted by what was imported, not by a clock."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "numpy",
    "jinja2",
    "git",
    "rich.live",
    "rich.table",
    "rich.console",
    "triage.stories.run",
    "triage.probe",
    "triage.reduce",
    "triage.report",
)

SNIPPET = """
import json, sys
from triage.cli.app import main
code = None
try:
    main({arguments!r})
except SystemExit as end:
    code = end.code
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


def start(*arguments: str) -> tuple[str, int, set[str]]:
    """(standard output, exit status, imported modules) of one run of the command line in a fresh interpreter."""
    source = SNIPPET.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return done.stdout, code or 0, set(modules)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("run", "--help"), ("explain", "--help"), ("--version",), ("--show-completion", "bash")]
)
def test_nothing_heavy_is_loaded(arguments):
    _, _, modules = start(*arguments)
    assert [name for name in HEAVY if name in modules] == []


def test_help_names_every_command():
    text, code, _ = start("--help")
    assert code == 0
    assert [
        name
        for name in ("run", "explain", "report", "verify", "doctor", "list", "clean", "open", "compare")
        if name not in text
    ] == []


def test_run_help_names_the_options_others_rely_on():
    options = ("--python", "--out", "--timeout", "--budget", "--jobs", "--no-reduce", "--engine", "--accuracy")
    text, _, _ = start("run", "--help")
    assert [name for name in (*options, "--format", "--json", "--quiet") if name not in text] == []


def test_a_shell_completes_commands_and_runs(tmp_path, monkeypatch):
    (tmp_path / "triage-out" / "train-20260101-120000").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_TRIAGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "triage ver")
    monkeypatch.setenv("COMP_CWORD", "1")
    text, _, modules = start()
    assert text.split() == ["verify"]
    assert [name for name in HEAVY if name in modules] == []
    monkeypatch.setenv("COMP_WORDS", "triage open triage-out/t")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert start()[0].split() == ["triage-out/train-20260101-120000"]
