"""The picture of a graph: the guilty operation and its neighbours, each below what it takes; nothing where it is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from triage.model.codec import decode
from triage.model.report import Culprit, TriageReport
from triage.report.graph_picture import MOST_NODES, Drawn, graph_of, picture
from triage.report.redact import Redactor

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
LINE = "net.py:7 in forward: y = torch.relu(x)"


def report(op: str | None, line: str | None = LINE, graph: str | None = "0/1") -> TriageReport:
    found = decode(TriageReport, json.loads((GOLDEN / "report.json").read_text()))
    return replace(found, culprit=Culprit(op, graph), signature=replace(found.signature, user_line=line))


def chain(length: int, **where: str) -> list[Drawn]:
    found = []
    for number in range(length):
        name = f"n{number}"
        target = "torch.relu" if name in where else "torch.sin"
        found.append(Drawn(name, target, where.get(name, "net.py:1 in f: x"), (f"n{number - 1}",)))
    return found


def test_the_guilty_operation_stands_out_among_its_neighbours() -> None:
    drawn = picture(chain(30, n15=LINE), report("aten.relu"))
    assert [box["operation"] for box in drawn["boxes"] if box["style"] == "guilty"] == ["torch.relu"]
    assert len(drawn["boxes"]) == 9 and len(drawn["lines"]) == 8  # four before it and four behind
    assert [box["y"] for box in drawn["boxes"]] == sorted({box["y"] for box in drawn["boxes"]})
    assert drawn["told"] == "9 of the 30 operations of graph 0/1, round torch.relu"


def test_what_takes_several_stands_below_them_all() -> None:
    nodes = [
        Drawn("a", "torch.sin", "", ()),
        Drawn("b", "torch.cos", "", ("a",)),
        Drawn("c", "torch.add", LINE, ("a", "b")),
    ]
    drawn = picture(nodes, report("aten.add"))
    assert [(box["operation"], box["y"]) for box in drawn["boxes"]] == [
        ("torch.sin", 4),
        ("torch.cos", 68),
        ("torch.add", 132),
    ]
    assert {(line["y1"], line["y2"]) for line in drawn["lines"]} == {(42, 68), (42, 132), (106, 132)}


@pytest.mark.parametrize(
    ("op", "line", "guilty"),
    [
        ("aten.relu", LINE, 1),
        ("aten.frobnicate", LINE, 1),  # named otherwise: what stands on the line
        ("aten.relu", None, 1),  # the line is not known
        ("aten.relu", "other.py:1 in f: y", 1),
        ("aten.frobnicate", "other.py:1 in f: y", 0),
        (None, None, 0),
    ],
)
def test_what_is_not_known_is_not_drawn(op: str | None, line: str | None, guilty: int) -> None:
    drawn = picture(chain(5, n2=LINE), report(op, line))
    assert sum(box["style"] == "guilty" for box in drawn.get("boxes", ())) == guilty and bool(drawn) == bool(guilty)


def test_a_line_that_is_met_again_and_again_is_drawn_once() -> None:
    drawn = picture(chain(90, **{f"n{number}": LINE for number in range(90)}), report("aten.relu"))
    assert sum(box["style"] == "guilty" for box in drawn["boxes"]) == 1 and len(drawn["boxes"]) <= MOST_NODES


def test_the_graph_is_that_which_is_to_blame_and_nothing_of_it_is_secret(tmp_path: Path) -> None:
    def node(name: str, *takes: str) -> dict[str, Any]:
        return {
            "name": name,
            "target": "torch.relu",
            "args": [[{"ref": of} for of in takes], 1.0],
            "kwargs": {},
            "where": "s3cretT0ken-1",
        }

    folder = tmp_path / "graph" / "as_is"
    folder.mkdir(parents=True)
    (folder / "graph-000-dynamo.json").write_text(json.dumps({"graph_id": "0/0", "nodes": [node("x")]}))
    (folder / "graph-001-dynamo.json").write_text(json.dumps({"graph_id": "0/1", "nodes": [node("y"), node("z", "y")]}))
    (folder / "graph-002-dynamo.json").write_text('{"graph_id": "0/1", ')
    found = graph_of(tmp_path, report("aten.relu"), Redactor(environ={"SERVICE_TOKEN": "s3cretT0ken-1"}))
    assert [(each.name, each.takes) for each in found] == [("y", ()), ("z", ("y",))]
    assert not any("s3cretT0ken-1" in each.where for each in found)
    assert graph_of(tmp_path, report("aten.relu", graph=None), Redactor()) == ()
    assert graph_of(tmp_path / "none", report("aten.relu"), Redactor()) == ()
