"""What was tried in vain, so that a later round need not ask it again while nothing around it has changed.

Most of what a round proposes was proposed in the round before. An edit is the same again if it makes the same lines of the
same lines, and what it takes away is named as often elsewhere as it was: a definition may go once its last use has gone.
That is a guess, good enough until a last round asks everything (of 346 such edits of one search, one had become possible).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from triage.reduce.text.code.script import Edit, Script

_WORD = re.compile(r"[A-Za-z_]\w*")
Known = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]


class Vain:
    """The edits after which the failure was gone. `ignored` while everything is to be asked again."""

    def __init__(self) -> None:
        self.ignored = False
        self._known: set[Known] = set()
        self._text, self._counts = "", Counter[str]()

    def has(self, script: Script, edits: Collection[Edit]) -> bool:
        return not self.ignored and self._key(script, edits) in self._known

    def add(self, script: Script, edits: Collection[Edit]) -> None:
        self._known.add(self._key(script, edits))

    def _key(self, script: Script, edits: Iterable[Edit]) -> Known:
        changes = tuple(_lines(script.text, edit) for edit in sorted(edits))
        gone = {word for old, new in changes for word in set(_WORD.findall(old)) - set(_WORD.findall(new))}
        if script.text != self._text:
            self._text, self._counts = script.text, Counter(_WORD.findall(script.text))
        return changes, tuple(sorted((word, self._counts[word]) for word in gone))


def _lines(text: str, edit: Edit) -> tuple[str, str]:
    """The lines that an edit touches, before and after."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = text.find("\n", max(edit.end - 1, edit.start))
    end = len(text) if end < 0 else max(end, edit.end)
    return text[start:end], text[start : edit.start] + edit.text + text[edit.end : end]
