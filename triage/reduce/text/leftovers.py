"""Where time ended: what nothing reads any more goes, in a question or two.

Passes take readers away first and what they read later, so a search that is cut short leaves names that nothing reads.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Iterable, Iterator

from triage.reduce.text.code.edits import compatible, deletion
from triage.reduce.text.code.nodes import calls
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.passes import definitions, flattening, unread
from triage.reduce.text.passes.choice import Choice, one

MOST_TURNS = 10
Propose = Callable[[Script], Iterable[Choice]]


def without_leftovers(script: Script) -> Iterator[Script]:
    """Lighter texts, the lightest first: from it what is printed, parameters that nothing reads, and classes go, too."""
    for passes in (
        (unread.propose, definitions.unread_parameters, _prints, _one_class),
        (unread.propose, definitions.unread_parameters),
        (unread.propose,),
    ):
        less = _settled(script, passes)
        if less.weight() < script.weight():
            yield less


def _prints(script: Script) -> Iterator[Choice]:
    """The call that is printed by itself; a print of nothing that calls the program's own goes."""
    for statement, _ in script.statements():
        if isinstance(statement, ast.Expr) and calls(statement.value, "print") and not statement.value.keywords:
            told = [item for item in statement.value.args if not isinstance(item, ast.Constant)]
            own = [
                item for item in told if isinstance(item, ast.Call) and script.source(item.func) not in dir(builtins)
            ]
            if not own:
                yield one(deletion(script, statement))
            elif len(own) == 1:
                yield one(Edit(*script.span(statement.value), script.source(own[0])))


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
