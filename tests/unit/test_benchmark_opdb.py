"""What looks through PyTorch's own samples: nothing is called a failure that eager shows, too, and no crash is lost."""

from __future__ import annotations

import ast
import json
import os

import opdb
import opdb_forks
import opdb_text
import opdb_truth
import pytest
import torch
from opdb_samples import Entry, _forms, _ways

FINE = "x = 1"
REFUSED = (
    "import torch\n\n\ndef refuse(graph, inputs):\n    raise LookupError\n\n\n"
    "torch.compile(lambda x: x + 1, backend=refuse)(torch.ones(2))"
)
WRONG = (
    "import torch\n\n\ndef other(graph, inputs):\n    return lambda *given: (given[0] + 2,)\n\n\n"
    "x = torch.ones(2)\ntorch.testing.assert_close(torch.compile(lambda x: x + 1, backend=other)(x), x + 1)"
)


def entry(*texts: str) -> Entry:
    named = [(str(number), lambda text=text: text) for number, text in enumerate(texts)]
    return Entry("op", "toy", torch.float32, lambda: iter(named))


def test_how_a_body_ends():
    assert opdb_forks.ended(FINE) == ""
    assert opdb_forks.ended(WRONG) == "check"
    assert opdb_forks.ended(REFUSED) == "BackendCompilerFailed"
    assert not opdb.fails_uncompiled(WRONG)
    assert opdb.fails_uncompiled("raise ValueError")


def test_what_fails_uncompiled_is_none_of_the_compilers():
    told = list(opdb.looked(entry("raise ValueError", FINE, REFUSED)))
    assert [(name, kind) for name, kind, _ in told] == [("0", opdb.HELD), ("1", ""), ("2", "BackendCompilerFailed")]
    assert told[2][2] == REFUSED


def test_a_body_that_ends_its_process_is_one_that_fails_and_the_others_are_looked_at():
    dies = (
        "import os\nimport torch\n\ntorch.compile(lambda x: x + 1, backend=lambda *given: os._exit(7))(torch.ones(2))"
    )
    told = list(opdb.looked(entry(FINE, dies, WRONG)))
    assert [(name, kind) for name, kind, _ in told] == [("0", ""), ("1", "crash or hang"), ("2", "check")]
    assert told[1][2] == dies


def test_a_text_keeps_its_backend_only_where_it_needs_it():
    needs = "import torch\n\nif {'backend': 'eager'} == (lambda f, **how: how)('f', backend=\"eager\"):\n    raise ValueError"
    assert opdb.plainest(needs, "eager") == needs
    assert opdb.plainest(REFUSED, "eager") == REFUSED


def test_the_ways_of_a_call():
    call = opdb_text.Call("clone().add_", (torch.ones(2), 3), {}, method=True)
    told = {name: make() for name, make in _ways(call, "0", "eager", "floating_point")}
    assert set(told) == {"0", "0-dynamic", "0-grad"}
    assert "return a0.clone().add_(a1)" in told["0"]
    assert 'torch.compile(f, backend="eager", dynamic=True)' in told["0-dynamic"]
    for text in told.values():
        ast.parse(text)
        assert opdb_forks.ended(text) == ""


def test_strides_are_written_down():
    text = opdb_text.literal(torch.arange(6).reshape(2, 3).t())
    made = eval(text, {"torch": torch})
    assert made.stride() == (1, 3)
    assert made.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_forms_of_an_operation():
    class Info:
        name, op, method_variant, inplace_variant = "add", torch.add, torch.Tensor.add, torch.Tensor.add_

    assert list(_forms(Info)) == [("torch.add", False), ("clone().add_", True)]


def test_the_table_counts_bodies_and_failures(tmp_path, capsys):
    line = {"key": "op/add-float32", "bodies": 3, "failing": [{"name": "op-add-0", "kind": "check", "text": ""}]}
    (tmp_path / "looked-0.jsonl").write_text(json.dumps(line) + os.linesep)
    opdb.told(tmp_path)
    assert "| op | 1 | 3 | 1 | check 1 |" in capsys.readouterr().out


@pytest.mark.parametrize("value", [torch.randn(40, 10), torch.ones(500, dtype=torch.int64)])
def test_a_large_tensor_is_drawn(value):
    made = eval(opdb_text.literal(value), {"torch": torch})
    assert made.shape == value.shape
    assert made.dtype == value.dtype


def test_what_only_takes_long_does_not_fail():
    assert opdb.only_slow(FINE)
    assert not opdb.only_slow("import os\nos.abort()")
    assert not opdb.only_slow(WRONG)


def test_the_truth_is_by_name():
    truth = opdb_truth.truth_of(
        ["s/op-polygamma_polygamma_n_2-float64-3-inplace-grad.py", "s/op-addr-bfloat16-2.py", "s/new.py"]
    )
    assert [each["bug"] for each in truth.values()] == ["polygamma_in_place", "rounding"]
    assert [each["fate"] for each in truth.values()] == ["fails", "rounding"]
