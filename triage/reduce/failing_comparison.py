"""Which comparison shows a wrong result: asked of the whole captured graph before it is taken apart.

A wrong result depends on values, so small pieces on made-up values say little at first. Each captured graph is run with
the values the script had, under each way to compare, until one fails: values against a double-precision reference (for a
backward pass from the gradients that arrived in the script, where they are known; else from the sum of the outputs, then of
their squares, for the sum of a softmax has no gradient); values against eager alone (a graph with constants of a fixed dtype
cannot be run in double precision), as torch's tests compare them. Where the kind of wrongness is known, only what shows that
kind, and a NaN first as torch's tests do. Whole graphs are dear, so the likely questions come first, and the others are
asked only while there is time.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from triage.judge.asking import Budget
from triage.judge.judgement import CandidateResult, Oracle
from triage.model.accuracy import Wrongness
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.rungs import UNCOMPILED
from triage.model.stage import Verdict
from triage.reduce.graph.slices import is_floating
from triage.reduce.graph.starts import in_order, starts
from triage.reduce.interface import Problem
from triage.reduce.printing.printer import FINE, FINEST, LEAST, Form
from triage.trial.interface import CandidateRunner

VALUES = (
    Form(check="values"),
    Form(check="values", squares=True),  # for gradients alone
    Form(check="values", reference=False),
    Form(check="values", close=True),
)
# `same` takes a value for right where its distance and that of eager to the reference are both NaN: one NaN in eager hides all.
# Values in double precision are their own reference to it.
NAN = (VALUES[3], VALUES[2], *VALUES[:2])
CASTS = ("float", "half", "bfloat16")  # methods of a tensor
SMALL = (FINE, FINEST, LEAST)
CASES = 6
SECONDS = 120.0  # after which no further question is asked
# ATen's words for two operands that do not fit: "must have the same dtype", "expected scalar type Float but found Double".
_TWO_DTYPES = re.compile(r"\bdtypes?\b|\bscalar type\b|\b[Dd]ouble\b")


def forms_of(wrong: Wrongness | None) -> tuple[Form, ...]:
    """The ways to compare that can show it, the plainest first."""
    if wrong is None:
        return (*VALUES, Form(check="strides"))
    if wrong.kind == "mutation":
        return (Form(check="mutation"), Form(check="mutation", reference=False))
    if wrong.kind == "nan":
        return NAN
    return VALUES if wrong.kind in ("values", "inf") else (Form(check=wrong.kind),)


class FailingComparison(NamedTuple):
    """A captured graph and the comparison that fails as a whole, the script of both, and what it did."""

    case: GraphCase
    form: Form
    source: str
    result: CandidateResult


@dataclass
class PassingGraphs:
    """Whole graphs, as scripts, that were run and gave what eager gives: not asked again, and not to blame.

    `all_of_them`: each that was asked last did, under each comparison, and no graph of the program was left out. `of_one_dtype`:
    by their ids those that cannot be run in double precision.
    """

    texts: set[str] = field(default_factory=set)
    all_of_them: bool = False
    of_one_dtype: set[str] = field(default_factory=set)


def comparison_of(
    problem: Problem, runner: CandidateRunner, oracle: Oracle, budget: Budget, passing: PassingGraphs | None = None
) -> FailingComparison | None:
    """The first captured graph and comparison that fail as a whole; None where none does.

    A check that the program makes after a backward pass does not say so: gradients are compared where nothing else shows.
    `passing` is kept between such questions: what passed is not asked again. Of a graph with tensors of a dtype of its own it is
    asked without a compiler first whether there is a reference.
    """
    passing = PassingGraphs() if passing is None else passing
    passing.all_of_them = False
    end, asked, of_one_dtype = time.monotonic() + SECONDS, set(passing.texts), passing.of_one_dtype
    doubted = not {case.graph_id for case in problem.cases} <= {case.graph_id for case in problem.cases[:CASES]}
    doubted |= not of_one_dtype.isdisjoint(case.graph_id for case in problem.cases)
    for way in forms_of(problem.signature.wrong):
        for case, form in _sized(way, problem):
            if budget.spent() or time.monotonic() > end:
                return None
            source = None if form.reference and case.graph_id in of_one_dtype else _source(problem, case, form)
            if source is None or source in asked:
                continue
            asked.add(source)
            if form.reference and fixes_a_dtype(case) and needs_its_dtype(runner.run(source, rung=UNCOMPILED.name)):
                of_one_dtype.add(case.graph_id)
                doubted = True
                continue
            result = runner.run(source)
            if form.compares_values and not form.zeros and _lacks_a_gradient(result):
                form = replace(form, zeros=True)
                source = _source(problem, case, form) or source
                asked.add(source)
                result = runner.run(source)
            verdict = oracle.judge(result).verdict
            if verdict is Verdict.SAME_FAILURE:
                return FailingComparison(case, form, source, result)
            if verdict is Verdict.NO_FAILURE:
                passing.texts.add(source)
            else:
                doubted = True
                if form.reference and needs_its_dtype(result):
                    of_one_dtype.add(case.graph_id)
    passing.all_of_them = bool(passing.texts) and not doubted
    return None


def _sized(way: Form, problem: Problem) -> Iterator[tuple[GraphCase, Form]]:
    """The graphs, each with the comparison as fine as it must be."""
    for case in _cases(in_order(problem)[:CASES]):
        if way.compares_values and _any_size(case, problem):
            yield from ((case, replace(way, fine=fine)) for fine in (SMALL if problem.small else (FINE,)))
        else:
            yield case, way


def _any_size(case: GraphCase, problem: Problem) -> bool:
    """Whether what is wrong may be small: gradients of the script's own are, of a mean over many elements. A NaN is not."""
    wrong = problem.signature.wrong
    return problem.small or (case.backward and begins_with(case) and (wrong is None or wrong.kind != "nan"))


def needs_its_dtype(result: CandidateResult) -> bool:
    """Whether it cannot be run in double precision: it makes tensors of another dtype itself, and uses them with its inputs."""
    exception = result.outcome.exception
    if exception is None or exception.type == "AssertionError":  # of its own comparison, which shows tensors
        return False
    return _TWO_DTYPES.search(exception.message) is not None


def fixes_a_dtype(case: GraphCase) -> bool:
    """Whether it makes floating-point tensors of none, or names their dtype: then it may need its inputs as they are."""
    metas = {item.name: [item.meta] for item in case.inputs} | {node.name: node.out for node in case.nodes}
    floating = {
        name for name, told in metas.items() if any(meta is not None and is_floating(meta.dtype) for meta in told)
    }
    return any(
        node.name in floating and (floating.isdisjoint(node.reads) or node.target in CASTS or _names_a_dtype(node))
        for node in case.nodes
    )


def _names_a_dtype(node: GraphNode) -> bool:
    return '"dtype": "' in json.dumps([node.args, node.kwargs])


def _lacks_a_gradient(result: CandidateResult) -> bool:
    """Whether the comparison itself raised since a gradient is None on one side (`same`, and torch.testing.assert_close)."""
    exception = result.outcome.exception
    return exception is not None and exception.type != "AssertionError" and "NoneType" in exception.message


def _source(problem: Problem, case: GraphCase, form: Form) -> str | None:
    """The whole graph on the script's own values; None where this way to compare says nothing new of it."""
    if form.squares and (not case.backward or begins_with(case)):
        return None
    return starts(replace(problem, cases=(case,)), form)[0][0].candidate.text()  # the script's own values come first


def begins_with(case: GraphCase) -> bool:
    """Whether the gradients are known that its backward pass begins with."""
    return any(item.gradient_of is not None for item in case.inputs)


def _cases(cases: Sequence[GraphCase]) -> Iterator[GraphCase]:
    """Those with gradients of the script's own, the others as they were captured, those that could take some and did not."""
    training = [
        replace(case, backward=True) for case in cases if case.learns and case.level == "dynamo" and not case.backward
    ]
    yield from sorted((*cases, *training), key=lambda case: not (case.backward and begins_with(case)))
