"""What is no valid program is refused without a run; what the program itself does may stay."""

from __future__ import annotations

import pytest
from text_helpers import reduced

from triage.judge.judgement import RefusedError
from triage.reduce.text.code.script import Script
from triage.reduce.text.validity import RULES, Validity

OPERATOR = """
import torch
@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    KERNEL
@twice.register_fake
def _(x):
    FAKE
"""


def flaws(text: str) -> list[str]:
    return [flaw for rule in RULES for flaw in rule.flaws(Script(text))]


def operator(kernel: str = "return x * 2", fake: str = "return torch.empty_like(x)") -> str:
    return OPERATOR.replace("KERNEL", kernel).replace("FAKE", fake)


def test_a_guard_of_the_main_module_stays_or_goes_as_a_whole() -> None:
    assert flaws('if __name__ == "__main__":\n    f()\n') == []
    assert flaws("if __name__:\n    f()\n") == ["`if __name__:` asks nothing"]


@pytest.mark.parametrize(
    "text",
    [
        "while True:\n    pass\n",
        'while True:\n    if "":\n        break\n',
        "while True:\n    if 1 == 2:\n        break\n",
        "while True:\n    if 1:\n        pass\n    else:\n        break\n",
        "while 1:\n    f(x)\n",
        "while True:\n    for n in x:\n        break\n",
        "while changed:\n    pass\n",
        "def f(g):\n    while g:\n        h()\n",
        "for n in itertools.count():\n    pass\n",
        "async def f():\n    pass\nf()\n",
        "async def f():\n    pass\ntorch.compile(f)()\n",
        "async def f():\n    pass\ng = torch.compile(f)\ng()\n",
        "import asyncio\nasyncio(self)\n",
        "def f():\n    pass\ndef f():\n    pass\n",
        "class A:\n    pass\ndef A():\n    pass\n",
        "assert (x, 'message')\n",
        "x is 1\n",
        operator("pass"),
        operator("return None"),
        operator("return x"),
        operator("y = x.view(-1)\n    return y"),
        operator(fake="return x"),
    ],
)
def test_what_no_person_would_write(text: str) -> None:
    assert len(flaws(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "while True:\n    if f():\n        break\n",
        "while True:\n    if 1:\n        break\n",
        "while True:\n    return 1\n" and "def f():\n    while True:\n        return 1\n",
        "while changed:\n    changed = step()\n",
        "while queue:\n    queue.pop()\n",
        "while g.nodes:\n    erase(g)\n",
        "while ready():\n    pass\n",
        "def f():\n    while True:\n        yield 1\n",
        "async def f():\n    pass\nasyncio.run(f())\n",
        "async def f():\n    pass\nasync def g():\n    await f()\nasyncio.run(g())\n",
        "import asyncio\nasyncio.run(x)\n",
        "import f\nf = f.f\nf(1)\n",
        "@overload\ndef f():\n    pass\n@overload\ndef f(x):\n    pass\n",
        "if x:\n    def f():\n        pass\nelse:\n    def f():\n        pass\n",
        "class A:\n    def f(self):\n        pass\nclass B:\n    def f(self):\n        pass\n",
        operator(),
        operator("if x.sum() > 0:\n        return x * 2\n    raise ValueError"),
        operator("raise ValueError").replace("-> torch.Tensor", "-> None"),
        operator("return x * 2", "raise NotImplementedError"),
        operator("x.mul_(2)", "pass").replace("-> torch.Tensor", "-> None"),
    ],
)
def test_what_is_a_program(text: str) -> None:
    assert flaws(text) == []


def test_what_is_odd_in_the_program_itself_may_stay_and_no_more_of_it() -> None:
    valid = Validity()
    valid.check(Script("while True:\n    pass\n"))  # before there is a program to compare with
    valid.of(Script("def f():\n    while True:\n        pass\n"))
    valid.check(Script("while 1:\n    pass\n"))
    with pytest.raises(RefusedError, match="nothing ends"):
        valid.check(Script("while 1:\n    while True:\n        pass\n"))


def test_each_rule_says_what_it_has_seen() -> None:
    assert all(rule.flaws.__doc__ for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_a_loop_is_not_reduced_to_an_endless_one() -> None:
    text = (
        "import torch\ndef spin(g):\n    changed = True\n    while changed:\n        changed = any(g)\n    return g\n"
        "torch.compile(spin)(torch.ones(2))\n"
    )
    small, _ = reduced(text, lambda text: "while" in text, checked=True)
    assert flaws(small) == [] and "while" in small
    assert "nothing ends" in "".join(flaws(reduced(text, lambda text: "while" in text)[0]))


@pytest.mark.parametrize(
    ("loop", "ends"),
    [
        ("while len(self.kept) > self.most:\n    self.gone.append(x)\n", False),
        ("while len(self.kept) > self.most:\n    self.kept.pop()\n", True),
        ("while len(self.kept) > self.most:\n    self.drop(x)\n", True),
        ("while len(self.kept) > self.most:\n    drop(self)\n", True),
        ("while len(kept) > 2:\n    pass\n", False),
        ("while len(kept) > 2:\n    drop()\n", True),
        ("while rest(kept) > 2:\n    gone.append(1)\n", True),
        ("while kept.rest:\n    kept.gone.append(1)\n", False),
        ("while kept.rest:\n    kept.rest.append(1)\n", True),
        ("while True:\n    next(items)\n", True),
        ("while True:\n    try:\n        next(items)\n    except StopIteration:\n        break\n", True),
        ("while True:\n    try:\n        next(items)\n    except StopIteration:\n        pass\n", False),
        ("while True:\n    try:\n        next(items)\n    except (KeyError, Exception):\n        pass\n", False),
        ("while True:\n    try:\n        next(items)\n    except KeyError:\n        pass\n", True),
        ("while True:\n    try:\n        pass\n    except StopIteration:\n        break\n", False),
        ("while True:\n    try:\n        items\n    except StopIteration:\n        break\n", False),
    ],
)
def test_what_a_loop_asks_for_has_to_be_changed_in_it(loop: str, ends: bool) -> None:
    assert any("nothing ends" in flaw for flaw in flaws(loop)) is not ends


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = 1 .view(2)\n", "int has no view"),
        ("x = []\ny = x.square()\n", "list has no square"),
        ("y = None.size(0)\n", "NoneType has no size"),
        ("y = (1, 2).sum()\n", "tuple has no sum"),
        ("f = torch.compile(1)\n", "torch.compile is given a value"),
        ("x = torch.ones(1)\nf = torch.compile(x, dynamic=True)\n", "torch.compile is given a value"),
    ],
)
def test_what_a_value_cannot_do_costs_no_query(text, expected):
    assert flaws(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "xs = []\nxs.append(1)\n",
        "x = None\nif x is not None:\n    x.size(0)\n",
        "x = 1\nx = f(x)\nx.view(2)\n",
        "n = 1.5.is_integer()\nt = ', '.join(n)\n",
        "import torch\n@torch.compile(dynamic=True)\ndef f(x):\n    return x\nf(1)\n",
        "f = torch.compile(fullgraph=True)(g)\nh = torch.compile(*a)\nk = torch.compile(model=g)\n",
    ],
)
def test_what_a_value_may_do_is_asked(text):
    assert flaws(text) == []
