"""The first intermediate value of a small reproducer that goes wrong: each value in turn is made the only result.

A value inside of a fused kernel cannot be looked at without changing the kernel, so each is asked for in a candidate of its
own, in the order of the operations; signs of zeros count where the first that is wrong hangs on them. Only small graphs: their
compiles are cheap, and larger ones were not reduced.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from triage.culprit.inquiry import Inquiry, ended_by_time
from triage.culprit.zero_signs import signed_by
from triage.judge.judgement import CandidateResult
from triage.model import trees
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.stage import Verdict
from triage.reduce.printing.printer import Form, count_ops, text_of

MOST = 12


class FirstWrong(NamedTuple):
    """The operation, and whether it is the sign of its zeros that is wrong."""

    node: GraphNode
    by_sign: bool = False


def first_wrong(case: GraphCase, form: Form | None, inquiry: Inquiry) -> FirstWrong | None:
    """The operation whose result is the first that is wrong; None where none is alone, or the graph is too large."""
    inner = [node for node in case.nodes if len(node.out) == 1 and node.out[0] is not None and not node.multi]
    if case.backward or form is None or not form.compares_values or len(inner) > MOST:
        return None
    if count_ops(case) == 1 and inner:
        return FirstWrong(made_by(case, inner[-1]))

    def run(case: GraphCase, form: Form) -> CandidateResult | None:
        return inquiry.run(text_of(case, form=form))

    for node in inner:
        result = run(replace(case, outputs=(trees.ref(node.name),)), form)
        if result is not None and ended_by_time(result):
            return None  # it may be this one
        if result is not None and inquiry.oracle.judge(result).verdict is Verdict.SAME_FAILURE:
            signed = signed_by(case, node, form, run)
            return FirstWrong(made_by(case, signed or node), by_sign=signed is not None)
    return None


def made_by(case: GraphCase, node: GraphNode) -> GraphNode:
    """The operation of several results of which this value is one that was picked; else the one whose result it is."""
    if node.target != "operator.getitem":
        return node
    picked_from = trees.as_ref(node.args[0])
    return next((other for other in case.nodes if other.multi and other.name == picked_from), node)
