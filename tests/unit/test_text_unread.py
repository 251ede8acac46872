"""What is kept and never read goes at once; what is read, or may act, stays."""

from __future__ import annotations

import pytest
from text_helpers import reduced

from triage.reduce.text.code.script import Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.passes.unread import propose

MODEL = """\
import torch
class Block(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = torch.nn.LayerNorm(d)
class Model(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.embed, self.blocks = torch.nn.Linear(d, d), torch.nn.ModuleList(Block(d) for _ in range(3))
        self.history = []
        self.steps = 0
    def describe(self):
        return self.history[-1]
    def forward(self, x):
        self.steps += 1
        self.history.append(x)
        return self.embed(x)
"""
CALL = "torch.compile(Model(2))(torch.ones(2))\n"


def without(text: str) -> str:
    """The text without all that is proposed."""
    script = Script(text)
    return tidy(script.replaced(edit for choice in propose(script) for edit in choice.alternatives[0]))


def test_attributes_that_nothing_reads_go_with_what_only_they_need():
    assert without(MODEL + CALL) == (
        "import torch\n\n"
        "class Model(torch.nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.embed = torch.nn.Linear(d, d)\n"
        "    def forward(self, x):\n        return self.embed(x)\n\n" + CALL
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a = 1\nb = a + 1\nc = b\nprint(0)\n", "print(0)\n"),  # a chain
        (
            "n = 0\nfor i in range(2):\n    n = n + 1\n    print(i)\n",
            "for i in range(2):\n    print(i)\n",
        ),  # read by itself
        ("a, b = 1, 2\nprint(a)\n", "a = 1\nprint(a)\n"),
        ("seen = {}\nseen[1] = 2\nprint(0)\n", "print(0)\n"),
        ("class A:\n    size = 3\n    def f(self):\n        pass\nprint(A())\n", "class A:\n    pass\n\nprint(A())\n"),
        ("def f():\n    def g():\n        pass\n    return 1\nf()\n", "def f():\n    return 1\n\nf()\n"),
        ("def f(h):\n    h\n    2.0\n    h = h\n    return 1\nf(0)\n", "def f(h):\n    return 1\n\nf(0)\n"),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(0)\n", "print(0)\n"),
        ("import functools as ft\n@ft.lru_cache(maxsize=1)\ndef f():\n    pass\nprint(0)\n", "print(0)\n"),
        (
            "class A:\n    @property\n    def f(self):\n        1\n    @staticmethod\n    def g():\n        pass\nprint(A())\n",
            "class A:\n    pass\n\nprint(A())\n",
        ),
    ],
)
def test_what_goes(text: str, left: str):
    assert without(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "a, b = f()\nprint(a)\n",
        "a = 1\nb = a\nprint(b)\n",
        "seen = {}\nseen[1] = 2\nprint(seen)\n",
        "import torch\ntorch.backends.cudnn.enabled = False\n",  # of another object: it may act
        "class A:\n    def f(self):\n        self.x = 1\nprint(getattr(A(), 'x'), A().f())\n",
        "class A:\n    def forward(self):\n        pass\n    def __call__(self):\n        pass\nprint(A())\n",
        "class A:\n    @hook\n    def f(self):\n        pass\nprint(A())\n",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n    y: int\nprint(A(1, 2).x)\n",
        "import atexit\n@atexit.register\ndef f():\n    pass\n",
        "from shop import dataclass\n@dataclass\nclass A:\n    pass\n",
        "import functools\n@functools.singledispatch\ndef f(x):\n    pass\n@f.register\ndef _(x: int):\n    pass\n",
        "class A:\n    @property\n    def f(self):\n        pass\n    @f.setter\n    def f(self, x):\n        pass\nprint(A())\n",
        "class A:\n    size = 3\n    def f(self):\n        return self.size\nprint(A().f())\n",
        "def f():\n    global a\n    a = 1\nf()\nprint(a)\n",
        "class A:\n    'What it is.'\nprint(A())\n",
    ],
)
def test_what_stays(text: str):
    assert list(propose(Script(text))) == []


def test_what_a_pass_leaves_unread_goes_in_few_queries():
    """The twelve modules are needed by one expression, which another pass takes away."""
    made = "".join(f"        self.a{n} = torch.nn.Linear({n}, 2)\n" for n in range(12))
    read = " + ".join(f"self.a{n}(x)" for n in range(12))
    text = (
        "import torch\ndef bad(x):\n    return x\n"
        f"class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}"
        f"    def forward(self, x):\n        y = {read}\n        return bad(x if x.sum() > 0 else y)\n"
        "torch.compile(M())(torch.ones(2))\n"
    )
    asked: list[str] = []

    def fails(one: str) -> bool:
        asked.append(one)
        return "return bad(" in one and "compile(M()" in one and "super()" in one

    found, _ = reduced(text, fails, checked=True)
    assert "self.a" not in found
    counts = {one.count("torch.nn.Linear(") for one in asked}
    assert len(counts) <= 5, "each went in a query of its own"


def test_a_module_that_is_made_and_not_kept_goes_with_its_class():
    kept = "import torch\n\nclass Used(torch.nn.Module):\n    pass\n\ntorch.compile(Used())(1)\n"
    made = kept.replace("torch.compile", "class Block(torch.nn.Module):\n    pass\n\nBlock()\ntorch.compile")
    assert without(made) == kept
    acts = kept.replace("torch.compile", "class Log:\n    pass\n\nLog()\ntorch.compile")
    assert "Log()" in without(acts)


PARAMETERS = """\
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 2)
        self.b = torch.nn.Linear(2, 2)
        self.scale = 1
    def forward(self, x):
        return x * self.a.weight
values = {'a.weight': 0, 'a.bias': 1, 'b.weight': 2, 'b.bias': 3}
"""


def test_values_of_parameters_go_with_what_has_them():
    called = "torch.func.functional_call(Model(), values, torch.ones(2))\n"
    found = without(PARAMETERS + called)
    assert "values = {'a.weight': 0}\n" in found and "self.a" in found and "self.b" not in found
    told = without(PARAMETERS + called + "print(values['b.bias'], Model().b)\n")
    assert all(f"'{name}.bias'" in told for name in "ab") and "self.b" in told
