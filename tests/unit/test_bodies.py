"""What stands in the body of a scan or of a cond is compiled with it: lines there are not left uncompiled one by one."""

from dataclasses import replace
from pathlib import Path

import pytest
from printer_cases import case, meta, node, tensor

from triage.culprit.first_diverging import Diverging, in_its_body
from triage.culprit.ways_round.bodies import calls_around
from triage.culprit.ways_round.changes import Spot
from triage.model.graphcase import GraphCase, GraphNode, SubGraph
from triage.stories.spots import is_within, outside

FILE = Path("/program/rnn.py")


def at(made: GraphNode, line: int) -> GraphNode:
    return replace(made, where=f"rnn.py:{line} in forward: y = f(x)")


def nested(operator: str, *besides: GraphNode) -> GraphCase:
    """A call on line 16, the body of which does something on line 13, and has a checkpoint of something on line 9."""
    inner = SubGraph("inner", ("b",), (at(node("c", "torch.sin", "%b", out=meta(4)), 9),), {"ref": "c"})
    wrap = node("d", "torch.ops.higher_order.wrap", {"graph": "inner"}, "%a", out=meta(4))
    body = SubGraph("body", ("a",), (at(node("b", "torch.relu", "%a", out=meta(4)), 13), at(wrap, 14)), {"ref": "d"})
    call = at(node("y", f"torch.ops.higher_order.{operator}", {"graph": "body"}, "%x", out=meta(4)), 16)
    return case([tensor("x", 4)], [call, *besides], "%y", subgraphs=(body, inner))


def lines(found: dict[str, str]) -> dict[str, str]:
    return {line.split(" ")[0]: call.split(" ")[0] for line, call in found.items()}


@pytest.mark.parametrize("operator", ["scan", "cond", "while_loop", "invoke_subgraph"])
def test_lines_of_a_body_lead_to_the_call_around_it(operator: str) -> None:
    found = lines(calls_around([nested(operator)]))
    assert found == {f"rnn.py:{line}": "rnn.py:16" for line in (13, 14, 9)}


def test_what_may_be_left_uncompiled_is_in_no_body() -> None:
    assert calls_around([nested("tag_activation_checkpoint")]) == {}
    besides = at(node("z", "torch.relu", "%x", out=meta(4)), 13)  # a function that is called from two places
    assert lines(calls_around([nested("scan", besides)])) == {"rnn.py:14": "rnn.py:16", "rnn.py:9": "rnn.py:16"}


def test_functions_are_left_uncompiled_from_the_call_outwards() -> None:
    bodies = {Spot(FILE, 9): Spot(FILE, 16)}
    helper, step, call, main = (Spot(FILE, line, ("relu",)) for line in (9, 14, 16, 30))
    assert outside([helper, step, call, main], bodies) == [call, main]
    assert outside([helper], bodies) == [Spot(FILE, 16)]
    assert outside([step, main], bodies) == [step, main] and outside([], bodies) == []
    assert is_within(helper, bodies) and not is_within(call, bodies)


def test_values_that_go_wrong_in_a_body_do_so_at_the_operation_that_is_left() -> None:
    whole = nested("tag_activation_checkpoint")
    found = Diverging(whole.nodes[0], 1, 1, 3)
    left = replace(node("r", "torch.sin", "%x", out=meta(4)), where=whole.subgraphs[1].nodes[0].where)
    assert in_its_body(found, whole, [left]).node is whole.subgraphs[1].nodes[0]
    assert in_its_body(found, whole, [replace(left, where="rnn.py:2 in forward: z = x.sin()")]) is found
    assert in_its_body(found, whole, [replace(left, target="torch.cos")]) is found
