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
from triage.reduce.text.code.script import Definition, Edit, Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.passes import definitions, flattening, unread
from triage.reduce.text.passes.choice import Choice, one

MOST_TURNS = 10
_KNOWN = frozenset({"torch", *dir(builtins)})
Propose = Callable[[Script], Iterable[Choice]]


def without_leftovers(script: Script) -> Iterator[Script]:
    """Lighter texts, the lightest first: from it what is printed, parameters that nothing reads, and classes go, too.

    A class may have to stay, for what looks into its instance: the others go without it.
    """
    more = (definitions.unread_parameters, _prints)
    classes = (*more, _one_class)
    for passes in (
        (unread.propose, *classes),
        (_unread_but_called, *classes),
        (unread.propose, *more),
        (_unread_but_called,),
    ):
        less = _settled(script, passes)
        if less.weight() < script.weight():
            yield less


def _unread_but_called(script: Script) -> Iterator[Choice]:
    """What nothing reads goes, but calls of the program's own that made it stay, and what they read: one of them may be
    what fails.
    """
    statements = {script.lines_span(statement): statement for statement, _ in script.statements()}
    unreads, kept = list(unread.propose(script)), list[Choice]()
    for choice in unreads:
        (edit,) = choice.alternatives[0]
        statement = statements.get((edit.start, edit.end))
        value = None if isinstance(statement, Definition | ast.Expr) else getattr(statement, "value", None)
        if statement is None or value is None:
            continue
        called = _own_calls(script, value)
        if called:
            kept.append(one(Edit(*script.span(statement), script.source(called[0] if len(called) == 1 else value))))
    yield from kept or unreads


def _prints(script: Script) -> Iterator[Choice]:
    """The call that is printed stays alone; a print of nothing that calls the program's own goes."""
    for statement, _ in script.statements():
        if isinstance(statement, ast.Expr) and calls(statement.value, "print"):
            called = [call for item in statement.value.args for call in _own_calls(script, item)]
            if not called:
                yield one(deletion(script, statement))
            elif len(called) == 1:
                yield one(Edit(*script.span(statement), script.source(called[0])))


def _own_calls(script: Script, node: ast.AST) -> list[ast.Call]:
    """The outermost calls in it of what is neither torch's nor Python's, and of what torch.compile made."""
    if not isinstance(node, ast.Call):
        return [call for child in ast.iter_child_nodes(node) for call in _own_calls(script, child)]
    names = [item.id for item in ast.walk(node.func) if isinstance(item, ast.Name)]
    if "torch.compile(" in script.source(node.func) or any(name not in _KNOWN for name in names):
        return [node]
    return [call for item in (*node.args, *node.keywords) for call in _own_calls(script, item)]


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
