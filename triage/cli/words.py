"""Where our options end and the target's words begin.

Options before SCRIPT belong to triage, all after it to the script. `-m MODULE` ends our options like Python's own does,
and `--` introduces a whole command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

RAW = "--raw-command"


def arrange(command: Any, words: Sequence[str]) -> list[str]:
    """The words so that the parser cannot take one of the target's for ours."""
    words = list(words)
    if not words or words[0] not in getattr(command, "commands", {}):
        return words
    known = {name: option for option in command.commands[words[0]].params for name in option.opts}
    if RAW not in known:
        return words
    position = 1
    while position < len(words):
        word = words[position]
        if word == "--":
            return [*words[:position], RAW, *words[position:]]
        if word.startswith("--module=") or (word.startswith("-m") and len(word) > 2):
            return [*words[: position + 1], "--", *words[position + 1 :]]
        if word in ("-m", "--module") and position + 1 < len(words):
            return [*words[: position + 2], "--", *words[position + 2 :]]
        if not word.startswith("-") or word == "-":
            return [*words[:position], "--", *words[position:]]
        option = known.get(word)
        takes_value = option is not None and not getattr(option, "is_flag", False)
        position += 2 if takes_value and "=" not in word else 1
    return words
