"""Fewer turns of loops, and data loaded without other processes: first, as every later candidate is quicker then.

Later passes propose the same (an argument less, a smaller number), but where a candidate takes ten seconds none is reached.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.edits import merged, without_argument
from triage.reduce.text.code.nodes import calls
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tolerances import names_in, values_of
from triage.reduce.text.passes.choice import Choice, never_stricter, one

WORKERS = "num_workers"
_ONLY_WITH_WORKERS = (WORKERS, "prefetch_factor", "persistent_workers", "multiprocessing_context", "worker_init_fn")
_TURNS = (1, 2)


@never_stricter
def propose(script: Script) -> Iterator[Choice]:
    loops: list[ast.AST] = []
    for node in script.nodes:
        if isinstance(node, ast.Call) and any(item.arg == WORKERS for item in node.keywords):
            gone = [item for item in node.keywords if item.arg in _ONLY_WITH_WORKERS]
            yield one(*merged([without_argument(script, node, item) for item in gone]))
        elif isinstance(node, ast.For | ast.comprehension):  # layers, too: `[Block() for _ in range(depth)]`
            loops += [item for item in ast.walk(node.iter) if calls(item, "range")]
    told = [argument for loop in loops if isinstance(loop, ast.Call) for argument in loop.args[:2][-1:]]
    given = [item for node, _ in values_of(script, names_in(told)) for item in ast.walk(node)]
    for number in dict.fromkeys([*told, *given]):
        if isinstance(number, ast.Constant) and type(number.value) is int and number.value > 1:
            fewer = [turns for turns in _TURNS if turns < number.value]
            yield Choice(tuple((Edit(*script.span(number), str(turns)),) for turns in fewer))
