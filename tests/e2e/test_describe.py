"""Real graphs survive the way into data, onto paper and back: what is printed captures as what was recorded.

One torch process captures every program of `describe_programs`, prints each graph in two forms, runs the scripts with a
capturing backend, and hands back both captures.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from triage.model.codec import decode
from triage.model.graphcase import GraphCase
from triage.reduce.printing.printer import code_lines, count_ops

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("describe")]  # one process captures for all of them
PROGRAMS = Path(__file__).parents[1] / "support" / "describe_programs.py"
NAMES = re.findall(r"@program\ndef (\w+)", PROGRAMS.read_text())


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("describe") / "captures.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "ignore", str(PROGRAMS), str(out)], check=True, env=environment, timeout=400)
    return json.loads(out.read_text())


@pytest.mark.parametrize("form", ["nice", "exact"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_is_what_was_captured(captures: dict[str, Any], name: str, form: str) -> None:
    graphs = captures[name]
    assert isinstance(graphs, list) and graphs, graphs
    for graph in graphs:
        printed = graph[form]
        assert "unprintable" not in printed, printed
        assert "error" not in printed, printed["source"] + printed["error"]
        recorded, again = decode(GraphCase, graph["case"]), decode(GraphCase, printed["cases"][0])
        if recorded.level == "dynamo":
            known = [(new, old) for new, old in zip(outputs(again), outputs(recorded), strict=True) if old is not None]
            assert [new for new, _ in known] == [old for _, old in known], printed["source"]
            assert inputs(again) == inputs(recorded), printed["source"]
            constants = sum(item.role == "constant" for item in recorded.inputs)
            assert count_ops(again) <= count_ops(recorded) + constants
        else:  # dead inputs are gone, and gradients are not taken again
            assert not inputs(again) - inputs(recorded), printed["source"]


def test_scripts_stand_by_themselves(captures: dict[str, Any]) -> None:
    for name in NAMES:
        for graph in captures[name]:
            source = graph["nice"]["source"]
            assert not re.search(r"triage|0x[0-9a-f]{6}|[\"']/|_dynamo\.repro", source), source
            assert code_lines(source) < 60, source


def test_a_line_of_the_users_for_each_operation(captures: dict[str, Any]) -> None:
    nodes = captures["linear_relu"][0]["case"]["nodes"]
    assert [node["where"].split(": ", 1)[1] for node in nodes][:1] == [
        "compiled(lambda x: torch.relu(lin(x)).sum())(torch.randn(5, 4))"
    ]
    assert nodes[0]["where"].startswith("describe_programs.py:")


def test_the_module_that_does_an_operation(captures: dict[str, Any]) -> None:
    """Of the graph of operators, forward and backward, and of one in which modules are called."""
    modules = [
        {(node["target"].split(".")[-2], node["module"]) for node in graph["case"]["nodes"] if node["module"]}
        for graph in captures["aten_training_step"]
    ]
    assert ("addmm", "lin (Linear)") in modules[0]
    assert ("addmm", "lin (Linear)") not in modules[1] and any(told == "norm (LayerNorm)" for _, told in modules[1])
    nodes = captures["not_inlined_modules"][0]["case"]["nodes"]
    assert [node["module"] for node in nodes if node["target"].endswith("conv2d")] == ["0 (Conv2d)"]


def test_recorded_values_print_to_the_last_bit(captures: dict[str, Any]) -> None:
    source = captures["recorded_values"][0]["nice"]["source"]
    assert 'torch.tensor([[1.5, float("nan"), -0.0], [float("inf"), 0.1, 1e-30]])' in source
    assert "torch.tensor([[1.0, 2.0]]).expand(3, 2)" in source


def test_functions_are_called_where_people_find_them(captures: dict[str, Any]) -> None:
    source = captures["functions_of_modules"][0]["nice"]["source"]
    for name in ("torch.linalg.norm(", "torch.fft.fft(", "torch.special.expit(", "torch.masked.softmin("):
        assert name in source and "torch._C" not in source


def test_a_tensor_constant_is_written_out(captures: dict[str, Any]) -> None:
    source = captures["classic_tensor_constant"][0]["nice"]["source"]
    assert "x * torch.tensor([1.0, 2.0])" in source and "_tensor_constant" not in source
    assert "x * torch.tensor([1.0, 2.0, 3.0])" in captures["aten_constants_and_mutation"][0]["nice"]["source"]


def outputs(case: GraphCase) -> list[Any]:
    """(shape, stride, dtype, requires_grad) of each output, scalars as None."""
    metas = {item.name: item.meta for item in case.inputs} | {node.name: node.out[0] for node in case.nodes if node.out}
    found = [metas.get(value["ref"]) if isinstance(value, dict) and "ref" in value else None for value in case.outputs]
    return [(meta.shape, meta.stride, meta.dtype, meta.requires_grad) if meta else None for meta in found]


def inputs(case: GraphCase) -> Counter[Any]:
    """(shape, stride, dtype, device, requires_grad, offset, what is left undone) of the inputs that the graph reads."""
    text = json.dumps([[node.args, node.kwargs] for node in case.nodes]) + json.dumps(case.outputs)
    used = [item for item in case.inputs if f'"ref": "{item.name}"' in text and item.role != "constant"]
    return Counter(
        (item.kind, item.value)
        if item.meta is None
        else (
            item.meta.shape,
            item.meta.stride,
            item.meta.dtype,
            item.meta.device,
            item.meta.requires_grad,
            item.meta.storage_offset,
            item.meta.lazy,
        )
        for item in used
    )
