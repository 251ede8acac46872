"""A name less that a value is unpacked into and that nothing reads: `a, b, c, d = self.body(x)`, with the number of the values.

How many values there are is told elsewhere (`nn.Linear(6, 4)`, `chunk(4)`), so neither may be changed alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice


def propose(script: Script) -> Iterator[Choice]:
    names = Occurrences(script)
    numbers = [
        node
        for node in script.nodes
        if isinstance(node, ast.Constant) and type(node.value) is int and not script.in_fstring(node)
    ]
    for statement, _ in script.statements():
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(target, ast.Tuple) or isinstance(statement.value, ast.Tuple):  # type: ignore[attr-defined]
            continue
        kept = [item for item in target.elts if not isinstance(item, ast.Name) or _is_read(names, item)]
        count = len(target.elts)
        if len(kept) in (0, count) or any(isinstance(item, ast.Starred) for item in target.elts):
            continue
        told = ", ".join(script.source(item) for item in kept) + ("," if len(kept) == 1 else "")
        less = Edit(*script.span(target), f"({told})" if len(kept) == 1 else told)
        same = [Edit(*script.span(node), str(len(kept))) for node in numbers if node.value == count]
        every = [(less, *same)] if len(same) > 1 else []
        if same:
            yield Choice((*every, *((less, edit) for edit in same)))


def _is_read(names: Occurrences, item: ast.Name) -> bool:
    scope = names.owners.get(item)
    return scope is None or bool(names.reads(item.id, scope))
