"""Graphs no part of which can say what the failure said. No torch."""

from dataclasses import replace

import pytest
from printer_cases import case, node

from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase, GraphInput
from triage.model.stage import OutcomeKind
from triage.reduce.graph.hidden import hidden, hidden_subclass

SAYS = "Trying to backward through diffuse.noise.default but no autograd formula was registered."


def graph(*more: str, target: str = "torch.ops.diffuse.noise") -> GraphCase:
    schedule = GraphInput("schedule", kind="opaque", value="an input of type Schedule")
    calls = [node("y", target, "%x", "%schedule"), *(node(name, target, "%x") for name in more)]
    return case([GraphInput("x", kind="int", value=1), schedule], calls, "y")


@pytest.mark.parametrize("message", [SAYS, SAYS.replace("diffuse.noise", "diffuse::noise")])
def test_a_call_that_is_given_an_object_cannot_be_written(message: str) -> None:
    assert (
        hidden(graph(), message) == hidden(graph(target="torch.ops.diffuse.noise.default"), message) == "diffuse.noise"
    )


def test_a_call_that_has_no_name_cannot_be_written() -> None:
    whole = graph("z")
    called = [replace(each, opaque="a lambda") for each in whole.nodes]
    assert hidden(replace(whole, inputs=whole.inputs[:1], nodes=tuple(called)), SAYS) == "diffuse.noise"


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        (graph("z"), SAYS),  # another call of it can
        (graph(), "Trying to backward through diffuse.noises.default"),
        (graph(target="torch.ops.aten.relu"), "aten.relu.default"),  # what others may be decomposed into
        (graph(target="torch.relu"), "torch.relu"),
    ],
)
def test_what_may_show_it_in_part_is_searched(whole: GraphCase, message: str) -> None:
    assert hidden(whole, message) == ""


@pytest.mark.parametrize(
    ("message", "frame", "expected"),
    [
        ("Expected a Pair tangent but got a plain Tensor", "runtime_wrappers.py:process_runtime_tangent", "Pair"),
        ("list index out of range", "subclass_utils.py:unwrap_tensor_subclasses", "Pair"),
        ("Complex dtype is not supported for isneginf", "runtime_wrappers.py:inner", ""),
        ("Pairs are not supported", "runtime_wrappers.py:inner", ""),
    ],
)
def test_what_is_about_a_tensor_subclass_needs_an_input_of_it(message: str, frame: str, expected: str) -> None:
    """The graph of ATen operators, where it is traced away, cannot fail so either."""
    pair = GraphInput("x", kind="opaque", value="a tensor of the subclass main.<locals>.Pair")
    whole = case([pair], [node("y", "torch.tanh", "%x")], "y")
    frames = (f"torch/_functorch/_aot_autograd/{frame}",)
    signature = FailureSignature(OutcomeKind.EXCEPTION, "RuntimeError", message, frames, message=message)
    below = replace(whole, level="aten", inputs=())
    assert hidden_subclass([below, whole], signature) == expected
    assert hidden_subclass([below], signature) == ""
