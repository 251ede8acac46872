"""What the captured graphs are turned into before they are searched: candidates, most promising first.

The Dynamo-level graph comes before the ATen one, since its reproducer is what a person would write; not so where it keeps the
books of `torch.func` by private calls, which every slice of it needs. Recorded values stand back behind synthetic ones unless
the failure is a wrong result, which they tend to trigger. Every candidate is set to the backend of the lowest rung that fails,
unless that is the program's own; modes and options only make sense to Inductor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.judge.device import compiled_calls, is_asynchronous
from triage.judge.judgement import RefusedError
from triage.model.effects import is_transform
from triage.model.graphcase import GraphCase
from triage.model.rungs import BACKENDS, DEFAULT_BACKEND, knows_modes
from triage.model.stage import OutcomeKind
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.edits import inputs_for_opaque
from triage.reduce.graph.generated import synthetic_values
from triage.reduce.interface import Problem
from triage.reduce.printing.printer import Form


@dataclass(frozen=True)
class Start:
    """Where to begin: a whole graph. `recorded` says that its inputs hold the script's own values."""

    candidate: Candidate
    recorded: bool = False


def starts(problem: Problem, form: Form | None) -> list[tuple[Start, ...]]:
    """For each captured graph, the candidates to begin with."""
    return [tuple(_starts(problem, case, form)) for case in in_order(problem)]


def in_order(problem: Problem) -> list[GraphCase]:
    """The captured graphs, most promising first."""
    return sorted(problem.cases, key=lambda case: (case.level != "dynamo") + 2 * lowered_first(problem, case))


def lowered_first(problem: Problem, case: GraphCase) -> bool:
    """Whether the graph of ATen operators is asked before this one.

    It has no levels, batch dimensions or dual numbers any more. It returns what Dynamo's graph does; inputs and gradients, of
    which another wrong result is told, have other names there. Only what Inductor makes wrong is wrong in it as well.
    """
    wrong = problem.signature.wrong
    same = wrong is None or (wrong.place == "output" and problem.rung in ("", DEFAULT_BACKEND))
    known = wrong is not None or problem.signature.kind is not OutcomeKind.WRONG_RESULT
    return known and same and any(map(is_transform, case.nodes))


def form_for(problem: Problem, case: GraphCase) -> Form:
    """A person's calls at the Dynamo level; the recorded overloads at the ATen level, to be spelled nicely at the end."""
    check = "values" if problem.signature.kind is OutcomeKind.WRONG_RESULT else "exception"
    waits, times = is_asynchronous(problem.signature.message), compiled_calls(problem.signature.frames)
    return Form(nice=case.level == "dynamo", check=check, waits=waits, times=times)


def _starts(problem: Problem, case: GraphCase, form: Form | None) -> Iterator[Start]:
    case = _at_rung(_printable(case), problem.rung)
    chosen = form or form_for(problem, case)
    synthetic = synthetic_values(case)
    candidates = [Start(Candidate(synthetic, chosen))]
    if synthetic != case:
        candidates.append(Start(Candidate(case, chosen), recorded=True))
    yield from candidates if chosen.check == "exception" else reversed(candidates)


def _printable(case: GraphCase) -> GraphCase:
    try:
        return inputs_for_opaque(case)
    except RefusedError:
        return case  # slices that leave the opaque operation out can still be printed


def _at_rung(case: GraphCase, rung: str) -> GraphCase:
    if rung not in BACKENDS:
        return case
    context = case.context if knows_modes(rung) else replace(case.context, mode=None, options={})
    return replace(case, backend=rung, context=context)
