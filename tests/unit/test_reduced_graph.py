"""The operations of a reproducer, read from its text, and their picture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from triage.model.codec import decode
from triage.model.report import Culprit, TriageReport
from triage.report.graph_picture import MOST_NODES, reduced_picture
from triage.report.reduced_graph import drawn_of

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
SCRIPT = """import torch
import torch.nn.functional as F


def f({inputs}):
{body}


x = torch.ones(3)
torch.compile(f, backend="inductor")(x)
"""


def script(body: str, inputs: str = "x, w") -> str:
    return SCRIPT.format(inputs=inputs, body="\n".join(f"    {line}" for line in body.splitlines()))


def read(body: str) -> list[tuple[str, list[str]]]:
    nodes = drawn_of(script(body), "repro.py")
    targets = {node.name: node.target for node in nodes}
    return [(node.target, [targets[name] for name in node.takes]) for node in nodes]


@pytest.mark.parametrize(
    ("body", "operations"),
    [
        ("return torch.relu(x)", [("torch.relu", [])]),
        ("return F.linear(x, w).sin() / 2", [("F.linear", []), ("sin", ["F.linear"]), ("div", ["sin"])]),
        ("a = x + w\na *= 2\nreturn -a", [("add", []), ("mul", ["add"]), ("neg", ["mul"])]),
        ("a, b = torch.split(x, 2)\nreturn a.cos()", [("torch.split", []), ("cos", ["torch.split"])]),
        ("y = torch.max(x, 0)[0]\nreturn y.sum()", [("torch.max", []), ("sum", ["torch.max"])]),
        ("y = x.clone()\ny[0] = w.sin()\nreturn y", [("clone", []), ("sin", []), ("copy_", ["clone", "sin"])]),
        ("with torch.no_grad():\n    y = x[1:]\nreturn y", [("index", [])]),
        ("return torch.full((2 * 3,), 1.0, device=x.device)", [("torch.full", [])]),
    ],
)
def test_operations_and_what_they_take(body: str, operations: list[tuple[str, list[str]]]) -> None:
    assert read(body) == operations


@pytest.mark.parametrize(
    "body",
    [
        "if x.sum() > 0:\n    return x\nreturn w",
        "for _ in range(3):\n    x = x.sin()\nreturn x",
        "return torch.vmap(lambda y: y.sin())(x)",
        "def g(y):\n    return y\nreturn g(x)",
    ],
)
def test_what_is_no_straight_line_is_not_drawn(body: str) -> None:
    assert read(body) == []


def test_what_is_no_program_is_not_drawn() -> None:
    assert (
        drawn_of("def f(:", "repro.py") == ()
        and drawn_of("x = 1", "repro.py") == ()
        and drawn_of("\0", "repro.py") == ()
    )


def test_the_line_of_the_reproducer_is_named() -> None:
    (node,) = drawn_of(script("return torch.relu(x)"), "repro.py")
    assert node.where == "repro.py:6"


def report(op: str) -> TriageReport:
    return replace(decode(TriageReport, json.loads((GOLDEN / "report.json").read_text())), culprit=Culprit(op))


def test_the_guilty_one_is_marked() -> None:
    drawn = reduced_picture(drawn_of(script("return (x + w).relu()"), "repro.py"), report("aten.add"))
    assert [(box["operation"], box["style"]) for box in drawn["boxes"]] == [("add", "guilty"), ("relu", "")]
    assert drawn["told"] == "2 operations left: add, relu" and len(drawn["lines"]) == 1


def test_the_only_one_is_to_blame_and_of_many_none_where_it_is_not_known() -> None:
    (box,) = reduced_picture(drawn_of(script("return F.conv2d(x, w)"), "repro.py"), report("aten.other"))["boxes"]
    assert box["style"] == "guilty"
    many = drawn_of(script("\n".join(["x = x.sin()"] * (MOST_NODES + 1)) + "\nreturn x"), "repro.py")
    assert reduced_picture(many, report("aten.other")) == {} and reduced_picture((), report("aten.other")) == {}
    assert len(reduced_picture(many[:MOST_NODES], report("aten.other"))["boxes"]) == MOST_NODES
