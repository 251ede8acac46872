"""What is copied out of installed packages, in the place of its import."""

from __future__ import annotations

from dataclasses import replace

from triage.model.outcome import Frame, RaisedException
from triage.reduce.text.code.script import Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.starts.extract import closed, pumped
from triage.reduce.text.watching.evidence import Module, failing_frames, frames_of_test, packages_of


def test_a_definition_is_copied_out_of_its_package():
    modules = {
        "pkg": Module("pkg", "from .m import Net\n", package=True, local=False),
        "pkg.m": Module(
            "pkg.m",
            "import torch\nfrom .base import Base\nSIZE = 3\nclass Net(Base):\n    n = SIZE\n",
            local=False,
        ),
    }
    script = Script("import torch\nfrom pkg import Net, other\ntorch.compile(Net())\n")
    assert [tidy(text) for text in pumped(script, modules)] == [
        "import torch\nfrom pkg.base import Base\nfrom pkg.m import SIZE\nfrom pkg import other\n\n"
        "class Net(Base):\n    n = SIZE\n\ntorch.compile(Net())\n"
    ]


def test_the_failing_files_of_a_package_are_copied_without_what_is_beside_the_point():
    text = (
        "from lib.base import Base, documented, speed\nimport torch\n"  # 1, 2
        "class Inner(Base):\n    width = 3\n"  # 3, 4
        "@documented(1)\nclass Outer(torch.nn.Module):\n"  # 5, 6
        "    def forward(self, x):\n        return speed(Inner.width, x)\n"  # 7, 8
        "    def never(self):\n        return self\n"
    )
    modules = {
        "lib.model": Module("lib.model", text, local=False, lines=frozenset({1, 2, 3, 4, 5, 6, 7, 8})),
        "lib.base": Module("lib.base", "class Base:\n    pass\n", local=False),
    }
    start = Script("from lib.model import Outer\nprint(Outer())\n")
    plain, whole = closed(start, modules)
    assert plain.text == (
        "import torch\n\nclass Inner:\n    width = 3\n\nfrom lib.base import speed\n\n"
        "class Outer(torch.nn.Module):\n    def forward(self, x):\n        return speed(Inner.width, x)\n\nprint(Outer())\n"
    )
    assert "@documented(1)" in whole.text and "class Inner(Base)" in whole.text
    assert list(closed(start, {})) == []


def test_a_class_of_a_package_comes_from_that_of_torch_below_it():
    every = frozenset(range(1, 20))
    modules = {
        "lib.net": Module(
            "lib.net",
            "from torch import nn\nfrom . import base\nfrom .base import Pretrained\nfrom .hub import public\n"
            "@public\nclass Net(Pretrained):\n    def __init__(self, config):\n        super().__init__(config)\n"
            "        self.lin = nn.Linear(config, 2)\n",
            local=False,
            lines=every,
        ),
        "lib.base": Module(
            "lib.base",
            "import torch.nn as tn\nclass Mixin:\n    pass\nclass Pretrained(Mixin, tn.Module):\n    pass\n",
            local=False,
            lines=every,
        ),
    }
    plain = next(closed(Script("import torch\nfrom lib.net import Net\ntorch.compile(Net(3))\n"), modules))
    assert plain.text == (
        "import torch\nfrom torch import nn\n\nclass Net(torch.nn.Module):\n    def __init__(self, config):\n"
        "        super().__init__()\n        self.lin = nn.Linear(config, 2)\n\ntorch.compile(Net(3))\n"
    )


def test_what_a_copied_definition_needs_moves_above_it():
    modules = {"pkg": Module("pkg", "class A:\n    kind = B\n", package=True, local=False)}
    script = Script("from pkg import A\nprint(A)\nclass B:\n    pass\n")
    assert [tidy(text) for text in pumped(script, modules)] == [
        "class B:\n    pass\n\nclass A:\n    kind = B\n\nprint(A)\n"
    ]


def test_failing_frames_are_those_the_compiler_names():
    torch_frame = Frame("/v/site-packages/torch/_dynamo/x.py", 1, "f")
    package = Frame("/v/site-packages/pkg/m.py", 2, "g")
    own = Frame("/p/script.py", 3, "h")
    inner = RaisedException("E", "", user_code=(own, package))
    assert failing_frames(RaisedException("W", "", frames=(torch_frame,), inner=inner)) == (own, package)
    assert failing_frames(RaisedException("W", "", frames=(own, torch_frame, package))) == (own, package)
    packages = "/opt/venv/lib/python3.11/site-packages"
    script, runs = Frame("/opt/venv/bin/pytest", 8, "<module>"), Frame(f"{packages}/_pytest/python.py", 3, "runtest")
    hooks, raises = Frame(f"{packages}/pluggy/_hooks.py", 4, "call"), Frame(f"{packages}/_pytest/raises.py", 5, "go")
    frames = (script, runs, hooks, runs, own, torch_frame, package, raises)
    assert failing_frames(RaisedException("W", "", frames=frames)) == (own, package, raises)
    assert packages_of((own, torch_frame, package)) == ("pkg",)


def test_of_a_check_in_a_test_the_test_is_what_its_runner_called():
    packages = "/opt/venv/lib/python3.11/site-packages"
    runs, script = Frame(f"{packages}/_pytest/python.py", 3, "runtest"), Frame("/p/run.py", 1, "main")
    test, helper = Frame("/p/tests/test_net.py", 9, "test_same"), Frame("/p/tests/test_net.py", 3, "check")
    failed = RaisedException("AssertionError", "", (script, runs, test, helper), test="tests/test_net.py::test_same")
    assert frames_of_test(failed) == (test,)
    assert frames_of_test(replace(failed, test="")) == () and frames_of_test(None) == ()
