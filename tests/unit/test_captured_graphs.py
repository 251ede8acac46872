"""The schema of a captured graph is written twice, and nothing of it is lost between the two: the agent's dictionaries have the
fields of the dataclasses, and a field that we do not know is told.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor

from triage.locate.conclude import Conclusion
from triage.model.accuracy import WrongResult
from triage.model.codec import decode, encode, unknown_fields
from triage.model.graphcase import Context, GraphCase, GraphInput, GraphNode, SubGraph, TensorMeta
from triage.model.outcome import AgentNotes, BoundaryPoint, Outcome
from triage.model.rungs import LADDER
from triage.model.stage import Direction, OutcomeKind, Stage, Symptom
from triage.probe.graphs import graph_of, read_graphs
from triage.probe.run import Probe
from triage.stories.captured import NO_GRAPH, captured, named_line, passes_alone

AGENT = Path(__file__).parents[2] / "triage" / "agent"
GRAPH = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")

# A dictionary of the agent's is one of these where it has these keys, and the fields that only the orchestrator fills.
KINDS: dict[type, tuple[list[set[str]], set[str]]] = {
    GraphCase: ([{"level", "graph_id"}], {"backward_order", "prepared", "backend_code"}),
    GraphInput: ([{"fill", "role"}], set()),
    GraphNode: ([{"target", "kwargs"}], {"data", "gradient"}),
    SubGraph: ([{"nodes", "metas"}], set()),
    TensorMeta: ([{"stride", "dtype", "storage_offset"}], set()),
    Context: ([{"grad_enabled", "autocast"}, {"fullgraph", "mode", "options"}], set()),
}
MAKERS = {"graph_node": GraphNode, "graph_input": GraphInput}  # functions of the agent's that take fields as keywords


def fields_of(kind: type) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def written(kind: type) -> Iterator[tuple[str, set[str]]]:
    """(where, keys) of each dictionary of this kind that a function of the agent's makes: as it is displayed, with what is
    put into it afterwards.
    """
    for file, function in functions():
        for display in ast.walk(function):
            if isinstance(display, ast.Dict) and any(marks <= keys_of(display) for marks in KINDS[kind][0]):
                yield f"{file.name}:{display.lineno}", keys_of(display) | added(function, display)


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for file in sorted(AGENT.rglob("*.py")):
        for item in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(item, ast.FunctionDef):
                yield file, item


def keys_of(display: ast.Dict) -> set[str]:
    return {key.value for key in display.keys if isinstance(key, ast.Constant)}


def added(function: ast.FunctionDef, display: ast.Dict) -> set[str]:
    """The keys of `name.update({...})` and `name[key] = ...` in the function that gives the dictionary this name."""
    names = {
        target.id
        for statement in ast.walk(function)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is display
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    }
    found: set[str] = set()
    for item in ast.walk(function):
        if isinstance(item, ast.Call) and ast.unparse(item.func) in {f"{name}.update" for name in names}:
            found |= {key for argument in item.args if isinstance(argument, ast.Dict) for key in keys_of(argument)}
        elif isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name) and item.value.id in names:
            found |= {item.slice.value} if isinstance(item.slice, ast.Constant) else set()
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_agent_writes_has_the_fields_of_the_dataclass(kind):
    found = list(written(kind))
    assert found, "the agent makes none"
    assert {place: keys - fields_of(kind) for place, keys in found if keys - fields_of(kind)} == {}


def must_be_written(kind: type) -> set[str]:
    return {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_agent_writes_every_field_but_those_that_only_the_reducer_knows(kind):
    found = list(written(kind))
    assert {place: must_be_written(kind) - keys for place, keys in found if must_be_written(kind) - keys} == {}
    assert fields_of(kind) - set().union(*(keys for _, keys in found)) == KINDS[kind][1]


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_given_by_keyword_is_a_field(name):
    calls = [
        item
        for _, function in functions()
        for item in ast.walk(function)
        if isinstance(item, ast.Call) and ast.unparse(item.func).split(".")[-1] == name
    ]
    assert calls
    assert {word.arg for call in calls for word in call.keywords} <= fields_of(MAKERS[name])


# -- strict decoding ------------------------------------------------------------------------------------------------


def test_a_graph_survives_its_way_through_a_file():
    assert graph_of(json.loads(json.dumps(encode(GRAPH)))) == GRAPH
    assert unknown_fields(GraphCase, encode(GRAPH)) == []


def changed(*path: Any, **more: Any) -> Any:
    data = encode(GRAPH)
    place = data
    for step in path:
        place = place[step]
    place.update(more)
    return data


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ((), "colour"),
        (("nodes", 0), "nodes[0].colour"),
        (("nodes", 0, "out", 0), "nodes[0].out[0].colour"),
        (("inputs", 0, "meta"), "inputs[0].meta.colour"),
        (("context",), "context.colour"),
    ],
)
def test_an_unknown_field_is_named_with_its_place(path, named):
    data = changed(*path, colour="red")
    assert unknown_fields(GraphCase, data) == [named]
    with pytest.raises(ValueError, match="a graph has no field ") as error:
        graph_of(data)
    assert str(error.value).endswith(named)
    assert decode(GraphCase, data) == GRAPH, "elsewhere a newer writer may add fields"


def test_arguments_are_data_and_no_fields():
    assert unknown_fields(GraphCase, changed("nodes", 0, kwargs={"alpha": {"float": "nan"}})) == []


@pytest.mark.parametrize("data", [None, [], "graph", {}, {"level": "aten"}, {"level": 1, "inputs": 3}])
def test_what_is_no_graph_is_a_value_error(data):
    with pytest.raises(ValueError, match="it is not a graph"):
        graph_of(data)


def files(folder: Path, *texts: str) -> tuple[Path, ...]:
    paths = tuple(folder / f"graph_{number}.json" for number in range(len(texts)))
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


GOOD, NEWER, TORN = json.dumps(encode(GRAPH)), json.dumps(changed(colour="red")), '{"level": '


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_kept(tmp_path):
    found = read_graphs([*files(tmp_path, NEWER, GOOD, TORN), tmp_path / "gone.json"])
    assert found.cases == (GRAPH,)
    assert [problem.split(":")[0] for problem in found.problems] == ["graph_0.json", "graph_2.json", "gone.json"]
    assert found.problems[0] == "graph_0.json: a graph has no field colour"


def captured_from(
    *graphs: Path, missing: tuple[str, ...] = (), direction: Direction | None = None, backwards: int = 0
) -> tuple[tuple[GraphCase, ...], str | None]:
    outcome = Outcome(OutcomeKind.EXCEPTION)
    notes = dataclasses.replace(AgentNotes(), missing=missing, point=BoundaryPoint(1, backwards))
    probe = Probe("inductor", "inductor", outcome, None, notes, Path("x"), graphs)
    walk: Any = SimpleNamespace(checked=None, rungs=LADDER, own_rung=LADDER[-1], seen={"inductor": [probe]})
    return captured(
        walk, Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION, settled=True, failing=LADDER[-1], direction=direction)
    )


def test_a_backward_pass_that_the_script_itself_never_took_is_left_out_too(tmp_path):
    """AOTAutograd traces it ahead; eager cannot take it where an operator has none."""
    called = files(tmp_path, json.dumps(encode(dataclasses.replace(GRAPH, level="dynamo"))))
    cases, _ = captured_from(*called, direction=Direction.BACKWARD)
    assert [(each.backward, each.direction) for each in cases] == [(True, "backward"), (False, "backward")]
    cases, _ = captured_from(*called, direction=Direction.BACKWARD, backwards=1)
    assert [each.backward for each in cases] == [True]


def test_a_run_goes_on_without_the_graph_and_says_so(tmp_path):
    cases, note = captured_from(*files(tmp_path, GOOD, NEWER))
    assert cases == (GRAPH,)
    assert note == "A captured graph could not be read, and was left out: graph_1.json: a graph has no field colour."


def test_a_graph_that_was_captured_twice_stands_where_it_was_met_first(tmp_path):
    """The one that is wrong comes first of a run that went on after it, and once more with all that were compiled."""
    wrong, right = GOOD, json.dumps(encode(dataclasses.replace(GRAPH, outputs=())))
    cases, note = captured_from(*files(tmp_path, wrong, right, wrong))
    assert cases == (GRAPH, dataclasses.replace(GRAPH, outputs=())) and note is None


@pytest.mark.parametrize(("size", "filled"), [(4, True), (5, False)])
def test_a_graph_of_operators_has_the_values_that_dynamos_was_called_on(
    tmp_path: Path, size: int, filled: bool
) -> None:
    called = dataclasses.replace(tensor("l_x_", 4), fill="values", data=[1.0, 2.0, 3.0, 4.0])
    dynamo = case([called], [node("y", "torch.relu", "%l_x_", out=meta(4))], "%y", level="dynamo")
    lowered = case([tensor("arg0_1", size)], [node("y", "torch.relu", "%arg0_1", out=meta(size))], "%y", level="aten")
    cases, _ = captured_from(*files(tmp_path, json.dumps(encode(lowered)), json.dumps(encode(dynamo))))
    (found,) = (each for each in cases if each.level == "aten")
    assert found.inputs[0] == dataclasses.replace(
        tensor("arg0_1", size), **({"fill": "values", "data": called.data} if filled else {})
    )


def test_a_run_without_graphs_says_why(tmp_path):
    assert captured_from() == ((), NO_GRAPH)
    assert captured_from(missing=("no torch.fx here",)) == ((), "no torch.fx here")
    cases, note = captured_from(*files(tmp_path, TORN), missing=("no torch.fx here",))
    assert cases == () and note is not None and "graph_0.json" in note


# -- graphs that are right by themselves -----------------------------------------------------------------------------


def test_a_graph_that_is_wrong_in_a_later_call_only_is_not_said_to_be_right():
    """The report says on another line which call is wrong."""
    later, first = (WrongResult("0/0", call, "output 0", "forward") for call in (3, 1))
    assert passes_alone(later).startswith("Call 3 of graph 0/0 is wrong in the program; by itself, compiled anew, ")
    assert "an earlier call" in passes_alone(later)
    assert passes_alone(first).startswith("Graph 0/0 is wrong in the program and gives by itself what eager gives")
    assert passes_alone(None).startswith("Each captured graph gives by itself what eager gives")
    assert passes_alone(None, [first]).startswith("What else the captured graph returns is by itself what eager gives")


def test_the_line_that_an_operation_of_the_error_stands_on() -> None:
    linear = replace(
        node("h", "torch._C._nn.linear", "%x", "%w", out=meta(4)), where="net.py:9 in forward: h = self.inp(x)"
    )
    product = replace(node("y", "torch.matmul", "%h", "%w", out=meta(4)), where="net.py:10 in forward: y = h @ w")
    called = case([tensor("x", 4), tensor("w", 4)], [linear, product], "%y")
    exact = replace(node("a", "torch.ops.aten.addmm.default", "%x", "%w", "%w", out=meta(4)), where=linear.where)
    lowered = case([tensor("x", 4), tensor("w", 4)], [exact], "%a")
    assert called.graph_id == lowered.graph_id
    told = named_line([called, lowered], called.graph_id, "aten.addmm.default")
    assert told == linear.where
    assert named_line([called], called.graph_id, "aten.addmm.default") is None  # one or the other
    assert named_line([called], called.graph_id, "aten.matmul") == product.where
    assert named_line([called, lowered], "another", "aten.addmm.default") is None
    again = replace(called, nodes=(replace(product, where="net.py:20 in backward: g @ w"),), graph_id="1/0")
    assert named_line([called, lowered], None, "aten.matmul") == product.where
    assert named_line([called, again], None, "aten.matmul") is None
