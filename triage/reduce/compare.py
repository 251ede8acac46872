"""Which comparison shows a wrong result: asked of the whole captured graph before it is taken apart.

A wrong result depends on values, so small pieces on made-up values say little at first. Each captured graph is run with
the values the script had, under each way to compare, until one fails: values against a double-precision reference (for a
backward pass from the sum of the outputs, then of their squares, for the sum of a softmax has no gradient); values
against eager alone (a graph with constants of a fixed dtype cannot be run in double precision), as torch's tests compare
them. Where the kind of wrongness is known, only what shows that kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from triage.model.accuracy import Wrongness
from triage.model.graphcase import GraphCase
from triage.model.stage import Verdict
from triage.reduce.interface import Budget, CandidateRunner, Oracle, Problem
from triage.reduce.prepare import starts
from triage.reduce.printer import Form, Unprintable

VALUES = (
    Form(check="values"),
    Form(check="values", squares=True),  # for gradients alone
    Form(check="values", reference=False),
    Form(check="values", close=True),
)
CASES = 6


def forms_of(wrong: Wrongness | None) -> tuple[Form, ...]:
    """The ways to compare that can show it, the plainest first."""
    if wrong is None:
        return (*VALUES, Form(check="strides"))
    if wrong.kind == "mutation":
        return (Form(check="mutation"), Form(check="mutation", reference=False))
    return VALUES if wrong.kind in ("values", "nan", "inf") else (Form(check=wrong.kind),)


def comparison_of(
    problem: Problem, runner: CandidateRunner, oracle: Oracle, budget: Budget
) -> tuple[GraphCase, Form] | None:
    """The first captured graph and comparison that fail as a whole; None where none does.

    A check that the program makes after a backward pass does not say so: gradients are compared where nothing else shows.
    """
    for case in _cases(problem.cases[:CASES]):
        for form in forms_of(problem.signature.wrong):
            if form.squares and not case.backward:
                continue
            for start in starts(replace(problem, cases=(case,)), form)[0][:1]:  # the script's own values come first
                if budget.spent():
                    return None
                try:
                    source = start.candidate.source("")
                except Unprintable:
                    continue
                if oracle.judge(runner.run(source)).verdict is Verdict.SAME_FAILURE:
                    return case, form
    return None


def _cases(cases: Sequence[GraphCase]) -> Iterator[GraphCase]:
    """The cases as they were captured, then those that could take gradients and did not."""
    yield from cases
    for case in cases:
        wanted = any(item.meta is not None and item.meta.requires_grad for item in case.inputs)
        if wanted and case.level == "dynamo" and not case.backward:
            yield replace(case, backward=True)
