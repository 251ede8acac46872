"""What a pass proposes."""

from __future__ import annotations

from dataclasses import dataclass

from triage.reduce.text.script import Edit


@dataclass(frozen=True)
class Choice:
    """One place that could be simpler. Each alternative is a set of edits; the simplest comes first."""

    alternatives: tuple[tuple[Edit, ...], ...]


def one(*edits: Edit) -> Choice:
    """A choice with a single alternative."""
    return Choice((edits,))
