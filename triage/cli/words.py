"""Where our options end and the target's words begin.

Options before SCRIPT belong to triage, all after it to the script. `-m MODULE` ends our options like Python's own does,
and `--` introduces a whole command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.model.places import LATEST

RAW = "--raw-command"
RESUME = "--resume"


def arrange(command: Any, words: Sequence[str]) -> list[str]:
    """The words so that the parser cannot take one of the target's for ours."""
    words = list(words)
    if not words or words[0] not in getattr(command, "commands", {}):
        return words
    known = {name: option for option in command.commands[words[0]].params for name in option.opts}
    if RAW not in known:
        return _with_latest(words) if RESUME in known else words
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
        if RESUME in known and _resumes_latest(words, position):
            words.insert(position + 1, LATEST)
        option = known.get(word)
        takes_value = option is not None and not getattr(option, "is_flag", False)
        position += 2 if takes_value and "=" not in word else 1
    return words


def _with_latest(words: list[str]) -> list[str]:
    """`--resume` with no run after it means the latest, where every word but those after `--` is ours."""
    ours = words.index("--") if "--" in words else len(words)
    for position in range(ours):
        if _resumes_latest(words, position):
            return [*words[: position + 1], LATEST, *words[position + 1 :]]
    return words


def _resumes_latest(words: Sequence[str], position: int) -> bool:
    return words[position] == RESUME and (position + 1 == len(words) or words[position + 1].startswith("-"))
