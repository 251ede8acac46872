"""The passes, as one table in the order they are tried: what takes long, statements, then structure, then tokens, then names.

Structure comes first as it has few choices and takes many tokens along; `STRUCTURE` are the passes of that kind.

A pass only proposes edits of one script. It is deterministic, never runs anything, and never loops to a fixpoint: `search`
does. What it proposes may be wrong in any way; what does not parse, or names what nothing defines, costs no query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from triage.reduce.text.code.script import Script
from triage.reduce.text.passes import (
    arguments,
    brackets,
    cheaper,
    definitions,
    expressions,
    flattening,
    forwarding,
    generators,
    imports,
    inlining,
    items,
    literals,
    logged,
    options,
    parameters,
    renaming,
    statements,
    unpacking,
    unread,
    unwrapping,
)
from triage.reduce.text.passes.choice import Choice


@dataclass(frozen=True)
class Pass:
    """`together`: its choices are independent, and are merged and halved; otherwise one is tried after the other.

    `shares` of the time of a round: as many as are worth more than a pass that rewrites what is left.
    """

    name: str
    propose: Callable[[Script], Iterator[Choice]]
    description: str
    together: bool = True
    shares: int = 1


STATEMENTS, UNREAD, LITERALS, BRACKETS = "statements", "unread", "literals", "brackets"
TABLE = (
    Pass("cheaper", cheaper.propose, "data loaded without other processes, fewer turns of loops"),
    Pass("options", options.propose, "what is read of a command line, in place of its parser"),
    Pass(UNREAD, unread.propose, "what is kept and never read: attributes, names, definitions"),
    Pass(STATEMENTS, statements.runs, "statements taken away, level by level; all of a value's statements", shares=4),
    Pass("logged", logged.propose, "print in place of a logger or a file"),
    Pass("unwrap", unwrapping.propose, "a block in place of the with, if, for, try around it; one handler less", False),
    Pass("inline", inlining.propose, "a function's body in place of its call, a value in place of its name", False),
    Pass("generators", generators.propose, "a generator's own loop in place of the loop over what it gives", False),
    Pass("parameters", parameters.propose, "what is given for a parameter in its place", False),
    Pass("imports", imports.propose, "torch.nn in place of nn: an import less"),
    Pass("forwarding", forwarding.propose, "a function in place of one that only calls it", False),
    Pass("flatten", flattening.propose, "functions in place of a class with one instance", False),
    Pass("keywords", arguments.propose, "an argument less in a call"),
    Pass("signatures", definitions.propose, "no decorators, bases, annotations and defaults; a parameter less"),
    Pass(
        "unpacking",
        unpacking.propose,
        "a name less that a value is unpacked into, or a loop takes pairs apart for",
        False,
    ),
    Pass("expressions", expressions.propose, "an expression by one of its parts, an element less", False),
    Pass(LITERALS, literals.propose, "smaller numbers and shorter strings, equal ones alike"),
)
FEWER = (  # for code that is not to be rewritten, or not yet
    TABLE[0],
    Pass("items", items.propose, "a function or class less in a table"),
    *(one for one in TABLE if one.name == STATEMENTS),
)
STRUCTURE = frozenset({"unwrap", "inline", "generators", "parameters", "forwarding", "flatten"})
POLISH = (
    Pass("names", renaming.propose, "short, usual names in place of long ones"),
    Pass(BRACKETS, brackets.propose, "in one line what fits in one, without needless brackets and commas"),
)
