"""Where time ended: what nothing reads any more goes, in a question or two.

Passes take readers away first and what they read later, so a search that is cut short leaves names that nothing reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from triage.reduce.text.code.edits import compatible
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.passes import definitions, flattening, unread
from triage.reduce.text.passes.choice import Choice

MOST_TURNS = 10
Propose = Callable[[Script], Iterable[Choice]]


def without_leftovers(script: Script) -> Iterator[Script]:
    """Lighter texts, the lightest first: parameters that nothing reads and classes with one instance are gone from it, too."""
    for passes in (
        (unread.propose, definitions.unread_parameters, _one_class),
        (unread.propose, definitions.unread_parameters),
        (unread.propose,),
    ):
        less = _settled(script, passes)
        if less.weight() < script.weight():
            yield less


def _one_class(script: Script) -> Iterator[Choice]:
    """Two at once might take the same name."""
    return itertools.islice(flattening.propose(script), 1)


def _settled(script: Script, passes: Iterable[Propose]) -> Script:
    """With all that these passes propose, and what they propose then; as far as it parses."""
    for _ in range(MOST_TURNS):
        before = script
        for propose in passes:
            edits: list[Edit] = []
            for choice in propose(script):
                if compatible(choice.alternatives[0], edits):
                    edits += choice.alternatives[0]
            less = Script(tidy(script.replaced(dict.fromkeys(edits))))
            try:
                script = less if less.weight() < script.weight() else script
            except (SyntaxError, ValueError):
                continue
        if script is before:
            break
    return script
