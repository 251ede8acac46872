"""An argument less in a call: keyword arguments, then positional ones, the last first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import without_argument
from triage.reduce.text.code.script import Script
from triage.reduce.text.passes.choice import Choice, never_stricter, one


@never_stricter
def propose(script: Script) -> Iterator[Choice]:
    for call in script.calls:
        for keyword in call.keywords:
            yield one(without_argument(script, call, keyword))
        for argument in reversed([item for item in call.args if not isinstance(item, ast.GeneratorExp)]):
            yield one(without_argument(script, call, argument))
