"""Ways round by another spelling of one call: what is not changed stays to the byte, and what is changed is what was meant."""

import ast
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from ways_round_programs import FILE, TRAIN, config, lines_changed, program, source, with_call

from triage.culprit.ways_round.calls import respelled_calls
from triage.culprit.ways_round.changes import Spot, of_calls, of_settings
from triage.culprit.ways_round.spellings import CONTIGUOUS, in_another_dtype


def test_an_imported_function_is_called_by_its_name():
    assert lines_changed(TRAIN, with_call(10, "cumsum")) == [
        "@torch.compiler.disable",
        "def _cumsum_uncompiled(*args, **kwargs):",
        "    return torch.cumsum(*args, **kwargs)",
        "        y = _cumsum_uncompiled(x, 0)  # a running sum",
    ]


def test_a_call_with_contiguous_tensors_stays_compiled():
    assert lines_changed(TRAIN, with_call(10, "cumsum", spelling=CONTIGUOUS)) == [
        "def _cumsum_contiguous(*args, **kwargs):",
        "    args = [each.contiguous() if isinstance(each, torch.Tensor) else each for each in args]",
        "    return torch.cumsum(*args, **kwargs)",
        "        y = _cumsum_contiguous(x, 0)  # a running sum",
    ]
    assert (
        "    owner, *args = [each.contiguous() if isinstance(each, torch.Tensor) else each for each in (owner, *args)]"
        in (lines_changed(TRAIN, with_call(11, "cumsum", spelling=CONTIGUOUS)))
    )


def test_a_call_in_another_dtype_gives_the_old_one():
    changed = with_call(10, "cumsum", spelling=in_another_dtype("bfloat16", "float32"))
    names: dict[str, Any] = {}
    helper = changed[changed.index("def _cumsum_in_float32") : changed.index("class")]
    exec("import torch\n" + helper, names)
    seen: list[torch.dtype] = []
    names["torch"] = SimpleNamespace(
        Tensor=torch.Tensor,
        bfloat16=torch.bfloat16,
        float32=torch.float32,
        cumsum=lambda x, dim: (seen.append(x.dtype), x.cumsum(dim))[1],
    )
    done = names["_cumsum_in_float32"](torch.ones(3, dtype=torch.bfloat16), 0)
    assert (seen, done.dtype, done.tolist()) == ([torch.float32], torch.bfloat16, [1.0, 2.0, 3.0])


def test_what_writes_to_its_tensors_gets_no_copies():
    text = "import torch\n\n\ndef f(x):\n    x.cumsum_(0)\n    torch.cumsum(x, 0, out=x)\n    return x.sin()\n"
    for line, name in ((5, "cumsum"), (6, "cumsum"), (7, "cumsum")):
        assert not list(respelled_calls(source(text), line, (name,), CONTIGUOUS))


def test_a_method_is_given_its_object():
    assert lines_changed(TRAIN, with_call(11, "cumsum"))[1:] == [
        "def _cumsum_uncompiled(owner, *args, **kwargs):",
        "    return owner.cumsum(*args, **kwargs)",
        "        z = _cumsum_uncompiled((x * 2).relu(), dim=0)",
    ]


def test_a_method_without_arguments_and_an_object_in_parentheses():
    assert "z = _relu_uncompiled((x * 2)).cumsum(dim=0)" in with_call(11, "relu")


def test_a_module_of_the_program_is_a_call_too():
    assert "w = _head_uncompiled(self, x // y)" in with_call(12)


def test_an_operator():
    changed = lines_changed(TRAIN, with_call(12, "floordiv"))
    assert changed[1:] == [
        "def _floor_divide_uncompiled(left, right):",
        "    return left // right",
        "        w = self.head(_floor_divide_uncompiled(x, y))",
    ]


def test_a_comparison_is_an_operator_where_it_is_to_blame():
    text = "import torch\n\ndef swap(h, i):\n    return torch.where(((i & 1) == 0) == (i > 2), h, -h)\n"
    assert lines_changed(text, with_call(4, "eq", text=text))[1:] == [
        "def _eq_uncompiled(left, right):",
        "    return left == right",
        "    return torch.where(_eq_uncompiled(((i & 1) == 0), (i > 2)), h, -h)",
    ]
    assert "_where_uncompiled(" in with_call(4, "roll", text=text)
    assert not list(respelled_calls(source("def f(x):\n    return 0 < x < 1\n"), 2, ("lt",)))


def test_a_call_over_several_lines_keeps_its_layout():
    assert "        return _interpolate_uncompiled(\n            w, scale_factor=2,\n        ) + z\n" in with_call(13)


def test_a_function_that_is_a_parameter_is_handed_over():
    text = "import torch\n\ndef apply(run, x):\n    return run(x)\n"
    assert lines_changed(text, with_call(4, text=text))[1:] == [
        "def _call_uncompiled(function, *args, **kwargs):",
        "    return function(*args, **kwargs)",
        "    return _call_uncompiled(run, x)",
    ]


def test_a_module_that_is_called_like_the_operation():
    text = "import torch\nclass A:\n    def forward(self, x):\n        return self.act(self.norm(self.conv1(x)))\n"
    assert "return self.act(self.norm(_conv1_uncompiled(self, x)))" in with_call(4, "convolution", text=text)


def test_a_module_of_torchs_that_holds_the_one_to_blame():
    text = "import torch\n\n\ndef forward(self, x):\n    return self.body(self.stem(x)).softmax(-1)\n"
    at = ("body", "relu")  # of body.1.relu
    calls = [each.what for each in respelled_calls(source(text), 5, ("relu",), modules=at)]
    assert calls == ["self.body", "self.body(self.stem(x)).softmax", "self.stem"]
    first, *rest = respelled_calls(source(text), 5, ("relu",), modules=at)
    assert first.named and not any(each.named for each in rest)
    changed = next(of_calls(program(text), [Spot(FILE, 5, ("relu",), at)]))
    assert "Run `self.body` uncompiled" in changed.words and changed.awaited


def test_a_name_that_is_taken_gets_a_number():
    text = "import torch\n_abs_uncompiled = None\ndef f(x):\n    return torch.abs(x)\n"
    assert "return _abs_uncompiled_2(x)" in with_call(4, "abs", text=text)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nnet = torch.compile(len)\n",  # the use of torch.compile itself
        "import torch\nfast = torch.compile(len)\nprint(fast([]))\n",  # a call of what is compiled
        "import torch\nclass A:\n    def f(self, x):\n        return super().f(x)\n",
    ],
)
def test_what_is_no_call_inside_the_compiled_code_is_left_alone(text: str):
    assert not [found for line in range(1, 5) for found in respelled_calls(source(text), line, ())]


def test_without_an_import_of_torch_one_is_added_below_the_docstring():
    text = '"""Loss."""\n\ndef loss(x):\n    return x.cumsum(0)\n'
    changed = with_call(4, "cumsum", text=text)
    assert changed.startswith('"""Loss."""\nimport torch\n\n\n@torch.compiler.disable\n')
    ast.parse(changed)


def test_lines_go_below_the_imports_but_not_above_what_stands_before_torch():
    text = 'import os\nos.environ["A"] = "1"\nimport torch\ntry:\n    import numpy\nexcept ImportError:\n    numpy = 0\nx = 1\n'
    change = next(of_settings(program(text, line=1), [config("torch._inductor.config.pattern_matcher", False)]))
    assert change.texts[FILE].decode().splitlines()[7:10] == [
        "import torch._inductor.config",
        "",
        "torch._inductor.config.pattern_matcher = False",
    ]
    assert change.words == "Put `torch._inductor.config.pattern_matcher = False` after the imports of train.py"
