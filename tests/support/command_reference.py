"""docs/commands.md, written from the commands themselves: `python tests/support/command_reference.py > docs/commands.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

HEAD = """# Commands

Written from the commands themselves: what `triage COMMAND --help` says. Options before the script belong to triage, all after it
to the script. Every option of `triage run` can also be set as `TRIAGE_NAME` in the environment or under `[tool.triage]` in
`pyproject.toml`.
"""


_TYPE = re.compile(r" <[^>]+>$")  # of an argument


def reference() -> str:
    """The page, in Markdown."""
    from triage.cli.app import app

    group: Any = typer.main.get_command(app)
    context = group.context_class(group, info_name="triage")
    commands = [group.get_command(context, name) for name in group.list_commands(context)]
    parts = ["\n".join(_command(command, context)) for command in commands if not command.hidden]
    return "\n".join([HEAD, *parts])


def _command(command: Any, above: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=command.name, parent=above)
    yield f"## triage {command.name}\n"
    yield f"`triage {command.name} {' '.join(command.collect_usage_pieces(context))}`\n"
    for paragraph in re.split(r"\n\s*\n", (command.help or "").replace("\b", "").strip()):
        yield " ".join(paragraph.split()) + "\n"
    rows = [row for each in command.get_params(context) if (row := each.get_help_record(context)) is not None]
    if rows:
        yield "| option | does |\n|---|---|"
        yield from (f"| `{_cell(_TYPE.sub('', names))}` | {_cell(told)} |" for names, told in rows)
        yield ""
    examples = (command.epilog or "").replace("\b", "").strip().splitlines()
    lines = [line.strip() for line in examples if line.strip() and not line.startswith("Examples")]
    if lines:
        yield "```console"
        yield from (f"$ {line}" for line in lines)
        yield "```\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
