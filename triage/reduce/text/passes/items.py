"""A function or class less in a table that a statement of the module writes out: `PASSES = [fold, drop]`, `RULES = {"a": rule}`.

As a statement less does, it leaves as it is what is kept. Other elements (`CLAMP = (0.2, 0.8)`) are values, and stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import without_item
from triage.reduce.text.code.script import Definition, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    defined = {node.name for node in script.tree.body if isinstance(node, Definition)}
    for statement in script.tree.body:
        table = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if isinstance(table, ast.Dict):
            items = [(key or value, value) for key, value in zip(table.keys, table.values, strict=True)]
        elif isinstance(table, ast.List | ast.Set):
            items = [(item, item) for item in table.elts]
        else:
            continue
        places = [(script.span(first)[0], script.span(last)[1]) for first, last in items]
        for index, (_, item) in enumerate(items):
            if isinstance(item, ast.Name) and item.id in defined and (len(items) > 1 or not isinstance(table, ast.Set)):
                yield one(without_item(places, index))
