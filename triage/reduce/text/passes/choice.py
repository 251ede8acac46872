"""What a pass proposes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tolerances import changes, tolerances


@dataclass(frozen=True)
class Choice:
    """One place that could be simpler. Each alternative is a set of edits; the simplest comes first."""

    alternatives: tuple[tuple[Edit, ...], ...]


def one(*edits: Edit) -> Choice:
    """A choice with a single alternative."""
    return Choice((edits,))


def never_stricter(propose: Callable[[Script], Iterator[Choice]]) -> Callable[[Script], Iterator[Choice]]:
    """A pass without what would change how much a check of the program allows."""

    @functools.wraps(propose)
    def proposed(script: Script) -> Iterator[Choice]:
        held = tolerances(script)
        for choice in propose(script):
            left = tuple(edits for edits in choice.alternatives if not changes(edits, held))
            if left:
                yield Choice(left)

    return proposed
