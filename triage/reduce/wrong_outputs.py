"""One call of a graph may give several wrong values, of which the program's check looks at one.

That one is asked for in a graph that returns nothing else, so that a reduction cannot end in another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from triage.judge.judgement import RefusedError
from triage.model import trees
from triage.model.accuracy import WrongResult
from triage.model.graphcase import GraphCase
from triage.reduce.graph.edits import DropOutput, ReturnOnly

_OUTPUT = re.compile(r"output (\d+)")  # as the agent names it, in the order in which the graph returns them


def outputs_of_first_call(wrongs: Sequence[WrongResult]) -> tuple[WrongResult, ...]:
    """The wrong outputs of the call that the first of these wrong values belongs to."""
    calls = [(wrong.graph, wrong.call) for wrong in wrongs]
    pairs = zip(wrongs, calls, strict=True)
    return tuple(wrong for wrong, call in pairs if call == calls[0] and _OUTPUT.fullmatch(wrong.item))


def returning_only(cases: Sequence[GraphCase], wrong: WrongResult) -> tuple[GraphCase, ...]:
    """The graphs of the call as far as this output needs them; none where it is no output, or the only one."""
    found = []
    for case in cases:
        name = output_name(case, wrong)
        if name is not None and not case.backward:
            try:
                found.append(ReturnOnly(name).apply(case))
            except RefusedError:
                continue
    return tuple(found)


def not_returning(cases: Sequence[GraphCase], wrongs: Sequence[WrongResult]) -> tuple[GraphCase, ...]:
    """The graphs of the call with what else they return; none where they return nothing else."""
    found = []
    for case in cases:
        names = [output_name(case, wrong) for wrong in wrongs]
        with suppress(RefusedError):
            for name in names:
                if name is None:
                    raise RefusedError("an output that cannot be told")
                case = DropOutput(name).apply(case)
            found.append(case)
    return tuple(found)


def output_name(case: GraphCase, wrong: WrongResult) -> str | None:
    """The name of the value in the graph of the user's calls that is this output; None where that cannot be told."""
    told, names = _OUTPUT.fullmatch(wrong.item), [trees.as_ref(output) for output in case.outputs]
    if told is None or (case.graph_id, case.level) != (wrong.graph, "dynamo"):
        return None
    return None if None in names or int(told[1]) >= len(names) else names[int(told[1])]
