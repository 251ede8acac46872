"""A custom operator's registration goes with its graph: from the user's files as source, from a library as an import.

PyTorch's own minifier leaves it behind, and its launcher dies with `'_OpNamespace' object has no attribute ...`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from triage.model.codec import decode
from triage.model.graphcase import GraphCase
from triage.reduce.printing.printer import Unprintable, print_case

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("custom operators")]
AGENT = Path(__file__).resolve().parents[2] / "triage" / "agent"

FILES = {
    "train.py": '''
import json, sys
import torch
from torch.library import custom_op

import kernels.smooth  # registers two::median_smooth
import fakelib

FACTOR = 3.0 * 2


def unrelated():
    raise SystemExit("never needed")


def helper(y):
    return y * FACTOR


@custom_op("one::clipped_exp", mutates_args=())
def clipped_exp(x: torch.Tensor) -> torch.Tensor:
    return helper(x.exp()).clamp(max=10)


@clipped_exp.register_fake
def _(x):
    return torch.empty_like(x)


def setup(ctx, inputs, output):
    ctx.save_for_backward(output)


def backward(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y


clipped_exp.register_autograd(backward, setup_context=setup)

torch.library.define("three::scale", "(Tensor x, float by=2.0) -> Tensor")


@torch.library.impl("three::scale", "cpu")
def scale_cpu(x, by=2.0):
    return x * by


@torch.library.register_fake("three::scale")
def scale_fake(x, by=2.0):
    return torch.empty_like(x)


torch.library.register_autograd("three::scale", lambda ctx, g: (g * 2.0, None))


def step(capture):
    @custom_op("four::add_in_place", mutates_args=("x",))
    def add_in_place(x: torch.Tensor, n: int = 2) -> None:
        x.add_(n)

    def fn(x):
        y = x.clone()
        add_in_place(y)
        return y * 2

    torch.compile(fn, backend=capture)(torch.randn(3))


def main(capture):
    grad = torch.randn(5, requires_grad=True)
    torch.compile(lambda x: clipped_exp(x * 2).sum(), backend=capture)(grad).backward()
    torch.compile(lambda x: torch.ops.two.median_smooth(x, 3), backend=capture)(torch.randn(2, 5))
    torch.compile(lambda x: torch.ops.three.scale(x), backend=capture)(grad).sum().backward()
    step(capture)
    torch.compile(lambda x: torch.ops.fakelib.twice(x), backend=capture)(torch.randn(2, 5))
    space = {"torch": torch}
    exec('lib = torch.library.Library("six", "DEF")\\nlib.define("ghost(Tensor x) -> Tensor")\\n'
         'lib.impl("ghost", lambda x: x.clone(), "CompositeExplicitAutograd")', space)
    torch.compile(lambda x: torch.ops.six.ghost(x), backend=capture)(torch.randn(2, 5))
''',
    "kernels/__init__.py": "",
    "kernels/consts.py": "LIMIT = 5\n",
    "kernels/helpers.py": '''
import math
from .consts import LIMIT

SCALE = math.sqrt(4.0)


def clip(x):
    return x.clamp(max=LIMIT * SCALE)
''',
    "kernels/smooth.py": '''
import torch
from torch import Tensor
from kernels import helpers
from .consts import LIMIT as TOP

NAME = "two"
lib = torch.library.Library(NAME, "DEF")
lib.define("median_smooth(Tensor x, int k) -> Tensor")
lib.define("other(Tensor x) -> Tensor")


def _impl(x: Tensor, k) -> Tensor:
    return helpers.clip(x) * TOP + k


lib.impl("median_smooth", _impl, "CompositeExplicitAutograd")
lib.impl("other", lambda x: x.clone(), "CompositeExplicitAutograd")


@torch.library.register_fake(f"{NAME}::median_smooth")
def _(x, k):
    return torch.empty_like(x)
''',
    "site-packages/fakelib/__init__.py": "from . import _ops\n",
    "site-packages/fakelib/_ops.py": '''
import torch

lib = torch.library.Library("fakelib", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
''',
    "capture.py": '''
import importlib, json, sys

sys.path[:0] = [AGENT, "site-packages"]
importlib.import_module("boot").load_agent()
del sys.path[0]
from _triage_agent.capture import describe
import train

cases = []


def capture(gm, inputs):
    cases.append(describe.graph_case(gm, inputs, level="dynamo"))
    return gm.forward


train.main(capture)
json.dump(cases, open("cases.json", "w"))
''',
}  # fmt: skip


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[GraphCase]:
    home = tmp_path_factory.mktemp("a project")
    for name, text in FILES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("AGENT", repr(str(AGENT)), 1) if name == "capture.py" else text)
    run(home, "capture.py")
    data: list[Any] = json.loads((home / "cases.json").read_text())
    return [decode(GraphCase, item) for item in data]


def run(home: Path, *command: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_COMPILE_BACKEND": "aot_eager"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_everything_the_registration_names_is_carried_along_and_nothing_else(cases: list[GraphCase]) -> None:
    assert "\n".join(cases[0].preamble) == "\n".join(
        [
            "from torch.library import custom_op",
            "import torch",
            "FACTOR = 6.0",
            "def helper(y):\n    return y * FACTOR",
            '@custom_op("one::clipped_exp", mutates_args=())\ndef clipped_exp(x: torch.Tensor) -> torch.Tensor:\n'
            "    return helper(x.exp()).clamp(max=10)",
            "@clipped_exp.register_fake\ndef _(x):\n    return torch.empty_like(x)",
            "def setup(ctx, inputs, output):\n    ctx.save_for_backward(output)",
            "def backward(ctx, g):\n    (y,) = ctx.saved_tensors\n    return g * y",
            "clipped_exp.register_autograd(backward, setup_context=setup)",
        ]
    )


def test_names_of_the_users_other_files_are_followed(cases: list[GraphCase]) -> None:
    text = "\n".join(cases[1].preamble)
    assert "kernels" not in text and "helpers" not in text and "return clip(x) * TOP + k" in text
    assert text.index("LIMIT = 5") < text.index("SCALE = 2.0") < text.index("def clip(x)") < text.index("def _impl(")
    assert "other" not in print_case(cases[1])


def test_an_operator_of_a_library_is_an_import(cases: list[GraphCase]) -> None:
    assert [line for line in cases[4].preamble if "fakelib" in line] == ["import fakelib._ops"]


def test_an_operator_without_source_is_a_reason_not_a_wrong_script(cases: list[GraphCase]) -> None:
    with pytest.raises(Unprintable, match="six::ghost"):
        print_case(cases[5])


def test_the_scripts_run_in_an_empty_directory(cases: list[GraphCase], tmp_path: Path) -> None:
    for index, case in enumerate(cases[:4]):
        (tmp_path / f"repro{index}.py").write_text(print_case(case))
    run(tmp_path, "-c", "import runpy\nfor index in range(4): runpy.run_path(f'repro{index}.py')")


def test_what_changes_its_argument_is_known(cases: list[GraphCase]) -> None:
    assert "torch.ops.four.add_in_place(a)\n    return a * 2" in print_case(cases[3])
    assert "return torch.ops.one.clipped_exp(x * 2).sum()" in print_case(cases[0])
