"""What an operation dies of at run time may be what it was given: an index that is out of bounds because a quotient is wrong.

Each value that a small reproducer computes before it dies is made the only result, in the order of the operations, and the
agent's rule judges it, so what is explained by rounding is never called wrong. That the failure comes of such a value is
shown by a run, too: with what eager computed in its place the reproducer passes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from triage.culprit.first_wrong import made_by
from triage.culprit.inquiry import Inquiry, TellingRunner, ended_by_time
from triage.judge.comparison import is_own_comparison
from triage.judge.judgement import CandidateResult
from triage.model import trees
from triage.model.accuracy import Comparison, WrongResult
from triage.model.effects import is_context
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.stage import Verdict
from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.edits import Cut
from triage.reduce.graph.observe import observed
from triage.reduce.printing.printer import Form, count_ops

MOST = 40  # values: a chain by which rounding grows is not cut down, and what dies at its end must not be blamed


class ComparingRunner(TellingRunner, Protocol):
    """A runner whose candidates the agent can be told to compare with eager."""

    def comparing(self, accuracy: Comparison | None) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class GivenWrong:
    """The operation whose result the failure comes of; `wrong` says what of it is, and is None where it only rounds otherwise."""

    node: GraphNode
    wrong: WrongResult | None


def given_wrong(case: GraphCase, form: Form, inquiry: Inquiry, runner: ComparingRunner) -> GivenWrong | None:
    """The first wrong value without which the reproducer passes, else the first that rounds otherwise; None without either.

    `inquiry` tells the failure again; the `runner` is that of its questions.
    """
    if form.check != "exception" or count_ops(case) < 2:
        return None
    inner = [node for node in case.nodes if node.tensor is not None]
    if len(inner) > MOST:
        return None
    whole, rounded = Candidate(case, form), []
    seen: Candidate | None = None
    for node in inner:
        with runner.comparing(Comparison()):
            result = inquiry.run(_only(whole, node).text())
        if result is None or ended_by_time(result) or inquiry.oracle.judge(result).verdict is Verdict.SAME_FAILURE:
            break  # it dies by then, or whether this one is wrong is not known
        if result.notes.wrongs:
            seen = seen or observed(whole, inquiry.runner)
            if _verdict_with_eagers(seen, node, inquiry) is Verdict.NO_FAILURE:
                return GivenWrong(made_by(case, node), result.notes.wrongs[0])
        elif _rounds_otherwise(result):
            rounded.append(node)
    for node in rounded:
        seen = seen or observed(whole, inquiry.runner)
        if _verdict_with_eagers(seen, node, inquiry) is Verdict.NO_FAILURE:
            return GivenWrong(made_by(case, node), None)
    return None


def comes_of(case: GraphCase, form: Form, wrong: GraphNode, inquiry: Inquiry) -> bool:
    """Whether the reproducer passes with what eager computed for this value, which by itself is wrong."""
    return _verdict_with_eagers(observed(Candidate(case, form), inquiry.runner), wrong, inquiry) is Verdict.NO_FAILURE


def comes_of_another(whole: Candidate, diverging: GraphNode, first: GraphNode, inquiry: Inquiry) -> bool:
    """Whether a graph fails by the operation that its reproducer shows, `first`, and not by the one with which values differ.

    An operation before that may not be off where it is the last one. One after it, or each one of its line in a loop, is what
    the failure comes of if eager's value of the other does not help: `expm1` that loses digits of most arguments, and all of
    the smallest.
    """
    alike = [node for node in whole.case.nodes if (node.target, node.where) == (first.target, first.where)]
    if whole.case.backward or not first.where or not alike or diverging in alike:
        return False
    names = [node.name for node in whole.case.nodes]
    seen = observed(whole, inquiry.runner)
    if names.index(diverging.name) < names.index(alike[0].name):
        return _verdict_with_eagers(seen, diverging, inquiry) is Verdict.SAME_FAILURE
    return len(alike) == 1 and _verdict_with_eagers(seen, alike[0], inquiry) is Verdict.NO_FAILURE


def _only(whole: Candidate, node: GraphNode) -> Candidate:
    """What computes this value, compared. What comes after it (a check that raises, a backward pass) is left out."""
    after = whole.case.nodes.index(node) + 1
    nodes = (*whole.case.nodes[:after], *filter(is_context, whole.case.nodes[after:]))
    case = replace(whole.case, nodes=nodes, outputs=(trees.ref(node.name),), backward=False)
    return Candidate(case, replace(whole.form, check="values"))


def _rounds_otherwise(result: CandidateResult) -> bool:
    """Whether the candidate's own comparison fails by what the agent, which compared all of it, explains by rounding."""
    error, notes = result.outcome.exception, result.notes
    left_out = notes.not_compared or notes.unsteady or notes.by_chance
    return error is not None and is_own_comparison(error) and notes.compared > 0 and not left_out


def _verdict_with_eagers(seen: Candidate, node: GraphNode, inquiry: Inquiry) -> Verdict:
    """What becomes of the failure where the graph is given what eager computed for this value."""
    unit = made_by(seen.case, node)
    known = {each.name for each in seen.case.nodes if each.data is not None}
    if node.name not in known:
        return Verdict.UNRESOLVED
    without = seen.maybe(Cut(frozenset([unit.name])))
    return Verdict.UNRESOLVED if without is None else inquiry.verdict(without.text())
