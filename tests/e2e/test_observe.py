"""What the operations of a case return, seen in one eager run; and that a value cut off from its producer keeps it."""

import subprocess
import sys

import pytest
from reduce_cases import case, op, tensor

from triage.reduce.graph.candidate import Candidate
from triage.reduce.graph.edits import Cut, Keep
from triage.reduce.graph.observe import hangs_on_values, observed
from triage.reduce.graph.slices import gradient_input
from triage.reduce.printing.printer import Form

pytestmark = [pytest.mark.e2e, pytest.mark.quick, pytest.mark.timeout(120)]


class Looks:
    """Runs a script in a process of its own."""

    def __init__(self, directory):
        self.directory = directory

    def look(self, source, file):
        self.directory.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-c", source], cwd=self.directory, check=True, timeout=100)
        return (self.directory / file).read_text()


def graph():
    """log of a negative number, and its maximum over each row."""
    return case(
        [tensor("x", 2, 2, fill="values", data=[[-1.0, 1.0], ["inf", 0.1]])],
        [
            op("a", "torch.log", "%x", out=tensor("x", 2, 2).meta),
            op("b", "torch.relu", "%a", out=tensor("x", 2, 2).meta),
        ],
        "b",
    )


def test_a_value_cut_off_from_its_producer_keeps_what_it_was(tmp_path):
    seen = observed(Candidate(graph(), Form(check="values")), Looks(tmp_path / "at"))

    assert seen.case.nodes[0].data == [["nan", 0.0], ["inf", -2.3025851]]
    without = Cut(frozenset({"a"})).apply(seen.case)
    assert (without.inputs[0].fill, without.inputs[0].data) == ("values", seen.case.nodes[0].data)
    assert seen.key() == Candidate(graph(), Form(check="values")).key()  # what is only known changes no candidate


def test_a_value_that_is_returned_instead_is_given_the_gradient_that_arrived_at_it(tmp_path):
    wide = tensor("x", 2, requires_grad=True).meta
    arrived = gradient_input("b", tensor("x", 2).meta, [0.0, 3.0])
    nodes = [op("a", "torch.neg", "%x", out=wide), op("b", "torch.mul", "%a", 2.0, out=wide)]
    training = case(
        [tensor("x", 2, requires_grad=True), arrived], nodes, "b", backward=True, direction="backward"
    )  # fmt: skip
    seen = observed(Candidate(training, Form(check="values")), Looks(tmp_path / "at"))

    assert [node.gradient for node in seen.case.nodes] == [[0.0, 6.0], [0.0, 3.0]]
    assert Keep(frozenset({"a"})).apply(seen.case).inputs[1].data == [0.0, 6.0]


def test_nothing_is_known_where_nobody_can_look():
    candidate = Candidate(graph())
    assert hangs_on_values(candidate)
    assert observed(candidate, object()) is candidate
