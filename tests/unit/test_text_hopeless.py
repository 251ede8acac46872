"""What raises wherever it is reached is refused without a run; where the rules cannot be sure they are silent."""

from __future__ import annotations

import pytest
from text_helpers import reduced

from triage.judge.judgement import RefusedError
from triage.reduce.text.code.script import Script
from triage.reduce.text.validity import RULES, Validity

OPERATOR = """\
import torch
@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
@twice.register_fake
def _(x):
    return torch.empty_like(x)
torch.ops.mine.twice(torch.ones(2))
"""
AUTOGRAD = """\
import torch
@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
def backward(ctx, g):
    return g * 2
def setup(ctx, inputs, output):
    pass
twice.register_autograd(backward, setup_context=setup)
torch.ops.mine.twice(torch.ones(2))
twice(x=torch.ones(2))
"""


def flaws(text: str) -> list[str]:
    return [flaw for rule in RULES for flaw in rule.flaws(Script(text))]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    pass\nf()\n",
        "def f(x):\n    pass\nf(1, 2)\n",
        "def f(x):\n    pass\nf(y=1)\n",
        "def f(x):\n    pass\nf(1, x=1)\n",
        "def f(*, x):\n    pass\nf()\n",
        "import torch\ndef f(x):\n    pass\ntorch.compile(f)()\n",
        "import torch\ndef f(x):\n    pass\ng = torch.compile(f)\ng()\n",
        "import torch\n@torch.compile\ndef f(x):\n    pass\nf()\n",
        "class A:\n    def f(self, x):\n        pass\nA().f()\n",
        "class A:\n    def f(self):\n        pass\nA.f()\n",
        "class A:\n    def f(self):\n        pass\nA()()\n",
        "class A:\n    def f(self):\n        pass\nA(1)\n",
        "class A:\n    def __init__(self, x):\n        pass\nA()\n",
        "import torch\ntorch.ones()\n",
        "x = 1\nx()\n",
        "x = []\ndef f():\n    return x()\n",
        "import torch\nclass Net(torch.nn.Module):\n    pass\nnet = Net()\na, b = net\n",
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self):\n        pass\nnet = Net()\na, b = net()\n",
        "import torch\nclass Net(torch.nn.Module):\n    pass\nfor x in torch.compile(Net()):\n    pass\n",
        "import torch\ntorch.eye()\n",
        "import torch\ntorch.func.jacfwd()\n",
        "class A:\n    def f(self, x):\n        pass\n    def g(self):\n        self.f()\n",
        "class A(B):\n    def f(self, x):\n        pass\n    def g(self):\n        self.f(1, 2)\n",
        "for i in range():\n    pass\n",
        "for i in 3:\n    print(i)\n",
        "for i in range:\n    print(i)\n",
        "a, b = 1\n",
        "a, b = []\n",
        "def f():\n    return 1, 2\na, b = f\n",
        "def f():\n    return 1,\na, b = f()\n",
        "def f():\n    pass\na, b = f()\n",
        "def f():\n    def g():\n        return 1, 2\n    return g\na, b = f()\n",
        OPERATOR.replace(", mutates_args=()", ""),
        OPERATOR.replace('"mine::twice", ', "").replace("torch.ops.mine.", ""),
        OPERATOR.replace('("mine::twice", mutates_args=())', "").replace("torch.ops.mine.", ""),
        OPERATOR.replace("x: torch.Tensor", "x"),
        OPERATOR.replace(" -> torch.Tensor", ""),
        OPERATOR.replace("-> torch.Tensor", "-> torch"),
        OPERATOR.replace("-> torch.Tensor", "-> 1"),
        OPERATOR.replace("mine::", "yours::"),
        AUTOGRAD.replace("(ctx, g)", "(ctx)"),
        AUTOGRAD.replace("(ctx, inputs, output)", "(ctx, output)"),
        AUTOGRAD.replace("(ctx, inputs, output)", "(ctx, a, b)"),
        AUTOGRAD.replace("backward, setup_context", "setup_context"),
        AUTOGRAD.replace("autograd(backward", "autograd(1"),
        AUTOGRAD.replace("x * 2", "x()"),
        'import torch\ntorch.library.register_autograd("mine::twice", lambda ctx: None)\n',
        "import torch\ntorch.ones(1)()\n",
        "import torch\nx = torch.ones(1)\nx()\n",
        "class Net(torch.nn.Module):\n    def __init__(self):\n        pass\n",
    ],
)
def test_what_cannot_run(text: str) -> None:
    assert len(flaws(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        OPERATOR,
        AUTOGRAD,
        AUTOGRAD.replace("(ctx, g)", "(ctx, *gs)").replace("(ctx, inputs, output)", "(ctx, inputs, output, **more)"),
        AUTOGRAD.replace("twice.register_autograd(", 'torch.library.register_autograd("mine::twice", '),
        AUTOGRAD.replace("setup_context=setup", "setup_context=None"),
        AUTOGRAD.replace("autograd(backward", "autograd(wrap(backward)"),
        AUTOGRAD.replace("def setup", "@wrap\ndef setup"),
        "import torch\nx = torch.ones(1)\nx = torch.sin\nx()\n",
        "import torch\ndef f(x: torch.nn.Module):\n    x()\n",
        OPERATOR.replace("mutates_args=()", 'mutates_args=(), schema="(Tensor x) -> Tensor"').replace(
            ": torch.Tensor", ""
        ),
        'import torch\nl = torch.library.Library("mine", "DEF")\nl.define("f(Tensor x) -> Tensor")\ntorch.ops.mine.f(1)\n',
        "import torch\ndef f(x=1):\n    pass\ntorch.compile(f)()\ng = torch.compile()\n",
        "import torch\ntorch.no_grad()\ntorch.seed()\ntorch.get_default_dtype()\ntorch.cuda.synchronize()\ntorch.nn.ReLU()\n",
        "class A:\n    def f(self, x):\n        pass\n    def g(self):\n        self.f = h\n        self.f()\n",
        "class A:\n    def f(self, x):\n        pass\n    def g(self):\n        setattr(self, 'f', h)\n        self.f()\n",
        "class A:\n    def f(self, x):\n        pass\nclass B(A):\n    f = g\n    def g(self):\n        self.f()\n",
        "class A:\n    @wrap\n    def f(self, x):\n        pass\n    def g(self):\n        self.f()\n",
        "x = None\nx()\n",
        "x = 1\nx = f\nx()\n",
        "import torch\nclass Net(torch.nn.Module):\n    def __iter__(self):\n        pass\nnet = Net()\na, b = net\n",
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self):\n        return x\nnet = Net()\na, b = net()\n",
        "def f(x, *a, **k):\n    pass\nf(1, 2, y=3)\nf(*z)\nf(**z)\n",
        "def f(x):\n    pass\ndef g(f):\n    f()\n",
        "@wrap\ndef f(x):\n    pass\nf()\n",
        "class A(B):\n    pass\nA(1)()\n",
        "class A:\n    __call__ = f\nA()()\n",
        "class A:\n    def f(self, x):\n        pass\nA().f(1)\nA.f(a, 1)\n",
        "def f():\n    yield 1\na, b = f()\nfor x in f():\n    pass\n",
        "def f():\n    if x:\n        return 1, 2\na, b = f()\n",
        "def f():\n    return g()\ndef g():\n    return 1, 2\na, b = f()\n",
        "def f():\n    return f()\na, b = f()\n",
        "a, *b = 'x', 2, 3\n",
        "def f():\n    return x\nx = 1\nf()\n",
        "print(sum([1, 2]))\nsum = 0\n",
        "import torch\ntorch.ops.aten.mm.default(torch.ones(2, 2), torch.ones(2, 2))\n",
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n",
        "class Net(nn.Module):\n    def __init__(self):\n        nn.Module.__init__(self)\n",
        "class Net(torch.nn.Module):\n    pass\nclass Own:\n    def __init__(self):\n        pass\n",
    ],
)
def test_what_may_run(text: str) -> None:
    assert flaws(text) == []


def test_what_the_program_does_itself_may_stay() -> None:
    valid = Validity()
    odd = "def f(x):\n    pass\ntry:\n    f()\nexcept TypeError:\n    pass\n"
    valid.of(Script(odd))
    assert valid.check(Script(odd)).text == odd
    with pytest.raises(RefusedError, match="does not take these arguments"):
        valid.check(Script(odd + "f(1, 2)\n"))


def test_a_docstring_that_names_an_operator_of_torchs_own_may_go() -> None:
    valid, call = Validity(), "import torch\ntorch.ops.aten.mm.default(torch.ones(2, 2), torch.ones(2, 2))\n"
    valid.of(Script(f'"""aten.mm fails."""\n{call}'))
    assert valid.check(Script(call)).text == call


def test_a_registration_costs_no_questions_that_torch_answers_itself() -> None:
    """Without the rules the same search asks for each of these parts again and again."""
    text = OPERATOR.replace("torch.ops.mine", "torch.compile(torch.sin)(1)\ntorch.ops.mine")

    def fails(candidate: str) -> bool:
        return flaws(candidate) == [] and all(part in candidate for part in ("register_fake", "torch.ops.mine.twice"))

    told, questions = reduced(text, fails, checked=True)
    plainly, more = reduced(text, fails)
    assert told == plainly
    assert questions * 2 < more


NET = """\
import torch
class A(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = n
    def forward(self, x):
        return x
class B(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = A(1), A(2).eval()
    def forward(self, x, y=0):
        return self.a(x) + self.b(x)
net = B()
fast = torch.compile(net)
fast(1)
net(1, 2)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A(1)", "A()"),
        ("self.a(x)", "self.a()"),
        ("self.b(x)", "self.b(x, 1)"),
        ("fast(1)", "fast()"),
        ("net(1, 2)", "net(1, 2, 3)"),
        ("B()\n", "B(3)\n"),
        ("torch.compile(net)\n", "torch.compile(B())()\n"),
        ("fast(1)", "torch.testing.assert_close(fast(1))"),
    ],
)
def test_modules_take_what_they_say(old: str, new: str):
    assert flaws(NET) == []
    assert len(flaws(NET.replace(old, new))) >= 1


@pytest.mark.parametrize(
    "changed",
    [
        NET.replace("self.a(x)", "self.a()").replace(
            "self.a, self.b = A(1), A(2).eval()", "self.a, self.b = f(1), A(2)"
        ),
        NET.replace("self.a(x)", "self.a()").replace("net = B()", "net = B()\nnet.a = print"),
        NET.replace("fast(1)", "fast()").replace("fast = torch.compile(net)", "fast = make(net)"),
        NET.replace("self.a(x)", "self.a()").replace("def forward(self, x):", "@wrap\n    def forward(self, x):"),
    ],
)
def test_where_it_is_not_sure_what_is_called_nothing_is_said(changed: str):
    assert flaws(changed) == []


CLASS = """\
class A:
    def __init__(self):
        self.x = 1
    def f(self):
        return self.x + self.training
A().f()
"""


def test_an_attribute_that_nothing_sets_any_more_is_refused():
    """What the program itself reads of a base that is not in the text may stay so."""
    valid = Validity()
    valid.of(Script(CLASS))
    valid.check(Script(CLASS))
    with pytest.raises(RefusedError, match=r"nothing sets self\.x"):
        valid.check(Script(CLASS.replace("self.x = 1", "pass").replace(" + self.training", "")))


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    x = 1\n    def f(self):\n        return self.x\n",
        "class A:\n    def x(self):\n        return self.x\n",
        "class A:\n    def f(self):\n        setattr(self, 'x', 1)\n        return self.x\n",
        "class A:\n    def f(self):\n        return self.x\na = A()\na.x = 1\n",
        "class A:\n    def f(self):\n        return self.__dict__\n",
        "class A:\n    def __init__(self, **m):\n        vars(self).update(m)\n    def f(self):\n        return self.x\nA(x=1)\n",
    ],
)
def test_attributes_may_be_set_in_many_ways(text: str):
    assert not [flaw for flaw in flaws(text) if "self.x" in flaw]
