"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, and knows every option there is."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from command_reference import reference
from documented import named, to_type

from triage.cli.app import app
from triage.cli.words import arrange

ROOT = Path(__file__).parents[2]
_LOADED = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=["']?(https?:)?//""")


def test_the_reference_is_what_the_commands_say() -> None:
    """Written anew by `python tests/support/command_reference.py > docs/commands.md`."""
    assert (ROOT / "docs" / "commands.md").read_text() == reference()


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {str(page.relative_to(tmp_path)): page.read_text() for page in tmp_path.rglob("*.html")}
    assert {"index.html", "commands.html", "tasks/crashes.html", "decisions/0002-libcst.html"} <= set(pages)
    loading = {name: _LOADED.findall(text) for name, text in pages.items() if _LOADED.search(text)}
    assert not loading


def documented() -> Iterator[str]:
    """Every command line of triage, without what the shell does with it."""
    for line in (*to_type(), *named()):
        yield re.split(r" \|\| | [<>] | \| ", line)[0]


@pytest.mark.parametrize("line", sorted(set(documented())))
def test_a_documented_command_is_one_that_the_parser_takes(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command: Any = typer.main.get_command(app)
    program, *words = shlex.split(line)
    assert words[0] in command.commands
    called: list[dict[str, Any]] = []
    monkeypatch.setattr(command.commands[words[0]], "callback", lambda **given: called.append(given))
    command.main(args=arrange(command, words), prog_name=program, standalone_mode=False)
    assert len(called) == 1
