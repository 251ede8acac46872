"""`torch.nn.functional` in place of `F`: an import less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.nodes import bound_name
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one


def propose(script: Script) -> Iterator[Choice]:
    """`torch.nn.functional` in place of `F`: an import less."""
    seen = Occurrences(script)
    for statement in script.tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom) or len(statement.names) != 1:
            continue
        alias = statement.names[0]
        path = alias.name if isinstance(statement, ast.Import) else f"{statement.module}.{alias.name}"
        if path.split(".")[0] != "torch" or path == "torch" or alias.name == "*":
            continue
        places = seen.reads(bound_name(alias))
        if places and all(place.placed for place in places) and (alias.asname or isinstance(statement, ast.ImportFrom)):
            edits = [Edit(place.start, place.end, path) for place in places]
            told = any(isinstance(item, ast.Import) and item.names[0].name == "torch" for item in script.tree.body)
            yield one(Edit(*script.lines_span(statement), "" if told else "import torch\n"), *edits)
