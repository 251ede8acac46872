"""Does the failure need what the program's own files did to torch: registrations, patches, passes?

The captured graph alone is asked first. Where it does not fail the same way, it is asked once more below the source of all
that (`GraphCase.setup`, found by the agent in `effects`); if that is what was missing, every candidate carries it from then
on, and the reduction shrinks it like the registration of a custom operator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from triage.judge.asking import Budget
from triage.judge.judgement import CandidateResult, Oracle
from triage.model.graphcase import GraphCase
from triage.model.stage import Verdict
from triage.reduce.graph.starts import starts
from triage.reduce.interface import Problem
from triage.trial.interface import CandidateRunner

CASES = 3  # graphs that are asked, the most suspect first
QUESTIONS = 3  # about them, at most
PARTS = 6  # left out in turn, to find statements that make every graph fail in another way
SECONDS = 120.0  # after which no further question is asked

Answer = TypeVar("Answer")


def ask_then_with_setup(problem: Problem, ask: Callable[[Problem], Answer | None]) -> tuple[Problem, Answer | None]:
    """The problem that `ask` has an answer to, and the answer: as it is, else below the program's effects on torch."""
    found, end = ask(problem), time.monotonic() + SECONDS
    if found is not None or not any(case.setup for case in problem.cases):
        return problem, found
    for cases in _smaller(tuple(map(with_setup, problem.cases))):
        below = replace(problem, cases=cases)
        found = ask(below) if time.monotonic() < end else None
        if found is not None:
            return below, found
    return problem, None


class FailingScript(NamedTuple):
    """The script of a whole graph that fails the same way, and what it did."""

    source: str
    result: CandidateResult


def failing_source(
    runner: CandidateRunner, oracle: Oracle, budget: Budget, timeout: float
) -> Callable[[Problem], FailingScript | None]:
    """A question for `ask_then_with_setup`: which of the graphs fails the same way as a whole, within `timeout` seconds."""

    def ask(problem: Problem) -> FailingScript | None:
        sources = dict.fromkeys(_sources(replace(problem, cases=problem.cases[:CASES])))
        for source in list(sources)[:QUESTIONS]:
            if budget.spent():
                return None
            result = runner.run(source, rung=problem.rung or None, timeout=timeout)
            if oracle.judge(result).verdict is Verdict.SAME_FAILURE:
                return FailingScript(source, result)
        return None

    return ask


def with_setup(case: GraphCase) -> GraphCase:
    """The case with all that the program's files did to torch as its preamble."""
    return replace(case, preamble=case.setup, prepared=True) if case.setup else case


def below_own_backend(cases: Sequence[GraphCase]) -> tuple[GraphCase, ...]:
    """The cases that were captured with the source of the program's own backend, that in front of them."""
    return tuple(_below_own_backend(case) for case in cases if case.own_backend)


def _below_own_backend(case: GraphCase) -> GraphCase:
    expression, *statements = case.own_backend
    preamble, setup = (tuple(dict.fromkeys((*own, *statements))) for own in (case.preamble, case.setup))
    return replace(
        case,
        preamble=preamble,
        setup=setup if case.setup else (),
        prepared=True,
        own_backend=(),
        backend_code=expression,  # with what it is called with
        context=replace(case.context, mode=None, options={}),
    )


def _smaller(cases: tuple[GraphCase, ...]) -> Iterator[tuple[GraphCase, ...]]:
    """With all of it, then with each part left out: a statement that cannot run here would hide the others."""
    yield cases
    size = max(len(case.preamble) for case in cases)
    step = max(1, -(-size // PARTS))
    for start in range(0, size, step) if size > 1 else ():
        yield tuple(replace(case, preamble=(*case.preamble[:start], *case.preamble[start + step :])) for case in cases)


def _sources(problem: Problem) -> Iterator[str]:
    texts = (start.candidate.text() for group in starts(problem, None) for start in group)
    return (text for text in texts if text is not None)
