"""The examples in every command's help are command lines that the parser takes."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer

from triage.cli.app import app
from triage.cli.examples import EXAMPLES
from triage.cli.words import arrange

COMMAND: Any = typer.main.get_command(app)
LINES = [line for lines in EXAMPLES.values() for line in lines]


def test_every_command_has_some() -> None:
    assert set(EXAMPLES) == set(COMMAND.commands)


@pytest.mark.parametrize("line", LINES)
def test_an_example_parses(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *words = shlex.split(line)
    called: list[dict[str, Any]] = []
    monkeypatch.setattr(COMMAND.commands[words[0]], "callback", lambda **given: called.append(given))
    COMMAND.main(args=arrange(COMMAND, words), prog_name=program, standalone_mode=False)
    assert len(called) == 1


@pytest.mark.parametrize(("name", "lines"), EXAMPLES.items())
def test_they_stand_in_the_help_of_their_command(name: str, lines: tuple[str, ...]) -> None:
    command = COMMAND.commands[name]
    text = command.get_help(command.make_context(name, [], resilient_parsing=True))
    assert [line for line in lines if f"  {line}\n" not in f"{text}\n"] == []
    assert [line for line in lines if not line.startswith(f"triage {name}")] == []
