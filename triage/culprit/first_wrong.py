"""The first intermediate value of a small reproducer that goes wrong: each value in turn is made the only result.

A value inside of a fused kernel cannot be looked at without changing the kernel, so each is asked for in a candidate of its
own, in the order of the operations, without those that follow: they may write over it. Signs of zeros count where the first
that is wrong hangs on them. Only small graphs: their compiles are cheap, and larger ones were not reduced.

Zeros of the other sign are equal, and what an operation makes of them is not: `atan2(-0.0, -1)` is -pi. So the operation whose
result is the first that is wrong may only have been given them. It was, where it agrees with eager once its operands have no
signed zeros on either side; then the one to blame is whose own zeros have another sign than in eager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from triage.culprit.inquiry import Inquiry, ended_by_time
from triage.judge.comparison import is_own_comparison
from triage.judge.judgement import CandidateResult
from triage.model import trees
from triage.model.effects import changed
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.stage import Verdict
from triage.reduce.printing.printer import Form, count_ops, print_if_possible

MOST = 12


class FirstWrong(NamedTuple):
    """The operation, and whether it is the sign of its zeros that is wrong."""

    node: GraphNode
    by_sign: bool = False


def first_wrong(case: GraphCase, form: Form | None, inquiry: Inquiry) -> FirstWrong | None:
    """The operation whose result is the first that is wrong; None where none is alone, or the graph is too large."""
    inner = [node for node in case.nodes if node.tensor is not None or changed(node)]
    if case.backward or form is None or not form.compares_values or len(inner) > MOST:
        return None
    if count_ops(case) == 1 and inner:
        return FirstWrong(made_by(case, inner[-1]))

    def run(case: GraphCase, form: Form) -> CandidateResult | None:
        return inquiry.run(print_if_possible(case, form=form))

    for node in inner:
        result = run(_up_to(case, node), form)
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


Run = Callable[[GraphCase, Form], CandidateResult | None]


def signed_by(case: GraphCase, wrong: GraphNode, form: Form, run: Run) -> GraphNode | None:
    """The operation before `wrong` from which that has zeros of another sign than in eager; None where nothing hangs on them.

    `run` answers what a graph does, compared in a form; None where it cannot be asked.
    """
    before = case.nodes[: case.nodes.index(wrong)]
    read = set(trees.refs([wrong.args, wrong.kwargs]))
    operands = [node for node in before if node.name in read and _is_floating(node)]
    if form.check != "values" or not operands:
        return None
    agrees = run(_without_signed_zeros(case, wrong, operands), form)
    if agrees is None or agrees.outcome.failed:
        return None
    for node in filter(_is_floating, before):
        alone = run(_up_to(case, node), replace(form, check="zero_sign"))
        if alone is not None and ended_by_time(alone):
            return None  # it may be this one
        error = alone.outcome.exception if alone is not None else None
        if error is not None and is_own_comparison(error):
            return node
    return None


def _up_to(case: GraphCase, node: GraphNode) -> GraphCase:
    """The graph that ends with it and returns what it gives; where that is nothing, inputs that were changed are compared."""
    returned = (trees.ref(node.name),) if node.tensor is not None else ()
    return replace(case, nodes=case.nodes[: case.nodes.index(node) + 1], outputs=returned)


def _without_signed_zeros(case: GraphCase, wrong: GraphNode, operands: list[GraphNode]) -> GraphCase:
    """The graph that returns what `wrong` makes of operands whose zeros are all positive."""
    nodes: list[GraphNode] = []
    replaced: dict[str, Any] = {}
    for node in operands:
        zero, plain = f"{node.name}_is_zero", f"{node.name}_plain"
        mask = [replace(meta, dtype="bool") if meta is not None else None for meta in node.out]
        nodes += [
            GraphNode(zero, "call_function", "operator.eq", [trees.ref(node.name), 0], out=mask),
            GraphNode(
                plain, "call_function", "torch.where", [trees.ref(zero), 0.0, trees.ref(node.name)], out=[*node.out]
            ),
        ]
        replaced[node.name] = trees.ref(plain)
    before = case.nodes[: case.nodes.index(wrong)]
    return replace(case, nodes=(*before, *nodes, wrong.rewired(replaced)), outputs=(trees.ref(wrong.name),))


def _is_floating(node: GraphNode) -> bool:
    return node.tensor is not None and "float" in node.tensor.dtype
