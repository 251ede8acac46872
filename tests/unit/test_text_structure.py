"""Passes of the source reducer that change how a script is built: classes, generators, loops, and the eager call."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest
from text_helpers import reduced, results

from triage.reduce.text.passes import (
    definitions,
    expressions,
    flattening,
    forwarding,
    generators,
    inlining,
    parameters,
    renaming,
    unwrapping,
)

MODULE = """
import torch

class M(torch.nn.Module):
    scale = 3

    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(8, 8)

    def half(self, x):
        return x / 2

    def forward(self, x):
        return self.half(self.lin(x)) * self.scale

"""
FUNCTIONS = """\
import torch

scale = 3

def half(x):
    return x / 2

def f(x):
    return half(lin(x)) * scale

lin = torch.nn.Linear(8, 8)
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("m = M()\ntorch.compile(m)(y)\n", "torch.compile(f)(y)\n"),
        ("torch.compile(M())(y)\n", "torch.compile(f)(y)\n"),
        ("m = M()\ntorch.compile(m)(y)\nm.half(y)\n", "torch.compile(f)(y)\nhalf(y)\n"),
    ],
)
def test_a_class_with_one_instance_becomes_functions(use, expected):
    assert FUNCTIONS + expected in results(MODULE + use, flattening.propose)


def test_a_method_keeps_what_makes_it_one_of_its_class():
    """Torch warns of a `__torch_function__` that is a plain method."""
    made = "class Own(Tensor):\n    @classmethod\n    def __torch_function__(cls, f, types):\n        pass\n"
    assert not [text for text in results(made, definitions.propose) if "def __torch" in text and "@" not in text]


def test_a_parameter_of_a_constructor_goes_and_what_its_base_is_given_stays():
    made = "class Own(Adam):\n    def __init__(self, betas=0.0):\n        super().__init__(params, 0.1)\n\nOwn(3)\n"
    assert made.replace(", betas=0.0", "").replace("Own(3)", "Own()") in results(made, definitions.propose)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("return self.half", "self.seen = x\n        return self.half"),  # state of its own
        lambda text: text.replace("self.half(self.lin(x))", "g(self)"),  # it is used as an object
        lambda text: text.replace("def half", "@property\n    def half"),
        lambda text: text.replace("def half", "def __len__"),
        lambda text: text + "M()\n",
    ],
)
def test_a_class_that_is_more_than_functions_stays(change):
    assert results(change(MODULE + "m = M()\ntorch.compile(m)(y)\n"), flattening.propose) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for a, b in zip(c, d):\n    f(a, b)\n", "a = c\nb = d\nf(a, b)\n"),
        ("for i, v in enumerate(g(x)):\n    f(v)\n", "v = g(x)[0]\nf(v)\n"),
        ("for i, v in enumerate(g(x)):\n    f(v)\n", "v = next(iter(g(x)))\nf(v)\n"),
        ("for i, (v, w) in enumerate(g(x)):\n    f(v, i)\n", "i = 0\n(v, w) = next(iter(g(x)))\nf(v, i)\n"),
        ("with a() as b:\n    f()\n", "with a():\n    f()\n"),
        ("for x in a.b:\n    f(x)\n", "x = a.b[0]\nf(x)\n"),
        ("try:\n    f()\nexcept A as e:\n    g()\n", "try:\n    f()\nexcept A:\n    g()\n"),
        ("match a:\n    case 1:\n        f()\n    case b:\n        g(b)\n", "f()\n"),
        ("match a:\n    case 1:\n        f()\n    case b:\n        g(b)\n", "b = a\ng(b)\n"),
        ("match a:\n    case 1:\n        f()\n    case _:\n        g()\n", "match a:\n    case 1:\n        f()\n"),
    ],
)
def test_less_to_run_in_ones_head(text, expected):
    assert expected in results(text, unwrapping.propose)


def test_a_loop_over_a_list_of_one_thing_becomes_the_thing():
    """In two steps: the first element in place of the loop (`unwrap`), then the thing in place of the list (`inline`)."""

    def is_called_on_it(text: str) -> bool:
        called: list[object] = []
        torch = SimpleNamespace(compile=lambda f, **options: called.append, one=lambda: "it")
        with contextlib.suppress(Exception):
            exec(text.replace("import torch", ""), {"torch": torch})
        return "it" in called

    text = "import torch\nxs = [torch.one()]\nfor x in xs:\n    torch.compile(print)(x)\n"
    small, _ = reduced(text, is_called_on_it)
    assert "for" not in small and "[" not in small


def test_a_table_of_constants_stands_where_it_is_read():
    kind = "class M:\n    def __init__(self):\n        self.table = {'a': [0.0, -1]}\n\n"
    text = kind + "def f(m, i):\n    return m.table['a'][i]\n\nprint(f(M(), 0))\n"
    assert any("return {'a': [0.0, -1]}['a'][i]" in each for each in results(text, inlining.propose))
    for change in (("-1]", "f]"), ("[i]", "[i], m.table")):
        assert all("self.table = {" in each for each in results(text.replace(*change), inlining.propose))


def test_a_class_is_dissolved_although_its_defaults_are_left_that_nothing_reads():
    text = MODULE.replace("__init__(self)", "__init__(self, lin=8, bias=True)") + "torch.compile(M())(y)\n"
    assert FUNCTIONS + "torch.compile(f)(y)\n" in results(text, flattening.propose)
    for change in (("Linear(8,", "Linear(lin,"), ("lin=8,", "lin,")):  # it is read; it has to be given
        assert not results(text.replace(*change), flattening.propose)


HOOK = """\
class Scale:
    factor = 0.1

    def attach(self, module):
        return module.register_full_backward_pre_hook(self)

    def __call__(self, module, grads):
        return [g * self.factor for g in grads]

"""


def test_an_object_that_keeps_nothing_becomes_functions_wherever_it_is_made():
    run = "def run(model):\n    Scale().attach(model)\n    model(1)\n\nrun(print)\n"
    (found,) = results(HOOK + run, flattening.propose)
    assert "    return module.register_full_backward_pre_hook(f)\n" in found
    assert found.endswith(
        "def f(module, grads):\n    return [g * factor for g in grads]\n\n" + run.replace("Scale().", "")
    )
    keeps = HOOK.replace("factor = 0.1", "def __init__(self):\n        self.factor = 0.1")
    assert not results(keeps + run, flattening.propose)
    assert not results(HOOK + run.replace("Scale()", "s = Scale()\n    s"), flattening.propose)


WRAPPER = """\
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(1, 2)

    def forward(self, x):
        return self.net(x)

"""


def test_a_module_that_only_calls_another_is_that_one():
    use = "m = Model()\nother = torch.compile(Model())\nprint(m.net.weight)\nother(1)\n"
    less = "m = torch.nn.Linear(1, 2)\nother = torch.compile(torch.nn.Linear(1, 2))\nprint(m.weight)\nother(1)\n"
    assert less in results(WRAPPER + use, forwarding.propose)
    for change in (
        ("self.net(x)", "self.net(x) + 1"),
        ("self.net(x)", "self.net(2)"),
        ("Linear(1, 2)\n\n", "Linear(1, 2)\n        self.seen = []\n\n"),
        ("(self):", "(self, n):"),
        ("print(", "print(Model, "),
        ("    def forward", "    @torch.no_grad()\n    def forward"),
    ):
        assert not results((WRAPPER + use).replace(*change), forwarding.propose)


ENGINE = """\
import torch

class Engine:
    def __init__(self, scorer, depth=2):
        self.scorer = scorer
        self.fast = torch.compile(scorer.score)

    def serve(self, x):
        return self.fast(x) - self.scorer.score(x)

"""


def test_a_class_whose_names_are_taken_gives_them_its_own():
    text = (
        MODULE.replace("class M", "class Second")
        + "def f(x):\n    return x\n\ndef forward(x):\n    return x\n\nlin = 3\n\n"
    )
    (found,) = results(text + "m = Second()\ntorch.compile(f)(m(forward(lin)))\n", flattening.propose)
    assert "def second(x):\n    return half(second_lin(x)) * scale" in found
    assert found.endswith("second_lin = torch.nn.Linear(8, 8)\ntorch.compile(f)(second(forward(lin)))\n")
    taken = text + "def second(x):\n    return x\n\nm = Second()\ntorch.compile(f)(m(forward(second(lin))))\n"
    assert not results(taken, flattening.propose)


@pytest.mark.parametrize(
    ("made", "above"),
    [
        ("engine = Engine(Scorer())\n", "scorer = Scorer()\n"),
        ("scorer = Scorer()\nengine = Engine(scorer)\n", "scorer = Scorer()\n"),
        ("engine = Engine(depth=4, scorer=Scorer())\n", "depth = 4\nscorer = Scorer()\n"),
    ],
)
def test_a_class_whose_instance_is_given_things_becomes_functions(made, above):
    functions = "import torch\ndef serve(x):\n    return fast(x) - scorer.score(x)\n"
    expected = functions + above + "fast = torch.compile(scorer.score)\nserve(3)\n"
    found = results(ENGINE + made + "engine.serve(3)\n", flattening.propose)
    assert expected in [text.replace("\n\n", "\n") for text in found]


@pytest.mark.parametrize(
    "change",
    [
        ("Engine(Scorer())", "Engine(*made)"),
        ("Engine(Scorer())", "Engine(Scorer(), 2, 3)"),
        ("engine =", "scorer = 3\nengine ="),  # another thing has the name
        ("self.scorer = scorer", "self.scorer = scorer.best"),  # the parameter is read below, and is not the attribute
        ("self.fast =", "scorer = scorer.best; self.fast ="),
    ],
)
def test_a_class_stays_where_what_it_is_given_has_no_name_of_its_own(change):
    text = ENGINE + "engine = Engine(Scorer())\nengine.serve(3)\n"
    assert results(text, flattening.propose) and not results(text.replace(*change), flattening.propose)


BATCHES = """
def batches(n):
    g = seeded(n)
    yield draw(g), g, 4
    yield draw(g), g, 5
x, g, tag = next(iter(batches(1)))
"""


def test_the_first_thing_that_a_generator_gives_is_made_without_it():
    assert "n = 1\ng = seeded(n)\nx = draw(g)\ntag = 4\n" in results(BATCHES, inlining.propose)
    assert not results(BATCHES.replace("next(iter(batches(1)))", "iter(batches(1))"), inlining.propose)
    inside = BATCHES.replace("g = seeded(n)", "for i in range(n):\n        yield seeded(i)")
    assert not any("next" not in text for text in results(inside, inlining.propose))


def test_one_turn_is_simpler_than_a_loop():
    text = "import torch\nxs = range(3)\nfor x in xs:\n    torch.compile(x)\n"
    assert "for" not in reduced(text, lambda candidate: "torch.compile(x" in candidate and "range" in candidate)[0]


@pytest.mark.parametrize(
    ("propose", "text", "expected"),
    [
        (definitions.propose, "def f():\n    return a, b\nc, d = f()\n", "def f():\n    return a\n\nc = f()\n"),
        (
            definitions.propose,
            "class F(Function):\n    def forward(ctx, x, n):\n        return x\nF.apply(a, b)\n",
            "class F(Function):\n    def forward(ctx, x):\n        return x\n\nF.apply(a)\n",
        ),
        (expressions.propose, "try:\n    raise E('x', [])\nexcept* V:\n    pass\n", "try:\n    raise V\nexcept* V:\n    pass\n"),
        (expressions.propose, "a = [x * 2 for y in z]\n", "a = [x * 2]\n"),
        (expressions.propose, "a = [f(y, y) for y in z]\n", "a = f(z[0], z[0])\n"),
        (inlining.propose, "a = b[0]\nf(a)\n", "f(b[0])\n"),
        (expressions.propose, "a, b = f(x)\n", "a = torch.ones(1)\n"),
        (expressions.propose, "a = x[:, 1:2]\n", "a = x[:]\n"),
        (expressions.propose, "a = x[:, 1:2]\n", "a = x[1:2]\n"),
        (expressions.propose, "a = x[1:2:3]\n", "a = x[:2:3]\n"),
        (expressions.propose, "a = x[1:2:3]\n", "a = x[1:2]\n"),
        (expressions.propose, "def f():\n    yield x\nf()\n", "def f():\n    yield\n\nf()\n"),
        (parameters.propose, "def f(a, k=3):\n    return a * k\nf(1)\n", "def f(a, k=3):\n    return a * 3\n\nf(1)\n"),
        (parameters.propose, "def f(a, k=1e-5):\n    return a * k\nf(1)\n", "def f(a):\n    return a * 1e-5\n\nf(1)\n"),
        (inlining.propose, "k = g()\nx.w = k\nf(b.w)\n", "k = g()\nf(k)\n"),
        (inlining.propose, "a, b = f, g()\nprint(a(b), a)\n", "b = g()\nprint(f(b), f)\n"),
        (inlining.propose, "a.width = 3\nf(b.width)\n", "f(3)\n"),
        (
            parameters.propose,
            "class M:\n    def __init__(self, n):\n        self.a = n\nM('abc')\n",
            "class M:\n    def __init__(self):\n        self.a = 'abc'\n\nM()\n",
        ),
        (parameters.propose, "def g(x, k):\n    return x[k]\ng(1, 5)\n", "def g(x, k):\n    return x[5]\n\ng(1, 5)\n"),
        (
            parameters.propose,
            "class M:\n    def __init__(self, n, d):\n        self.a = h(n) * d\nM([b, 1], d=2 + c)\n",
            "class M:\n    def __init__(self, d):\n        self.a = h([b, 1]) * d\n\nM(d=2 + c)\n",
        ),
        (
            parameters.propose,
            "class M:\n    def __init__(self, n, d):\n        self.a = h(n) * d\nM([b, 1], d=2 + c)\n",
            "class M:\n    def __init__(self, n):\n        self.a = h(n) * (2 + c)\n\nM([b, 1])\n",
        ),
        (parameters.propose, "def f(a, b):\n    g(b)\nf(x, b=2)\n", "def f(a, b):\n    g(2)\n\nf(x, b=2)\n"),
        (
            parameters.propose,
            "class M:\n    def __init__(self, n):\n        self.a = g(n)\nM(4)\n",
            "class M:\n    def __init__(self, n):\n        self.a = g(4)\n\nM(4)\n",
        ),
        (
            parameters.propose,
            "class M:\n    def __init__(self, n):\n        self.a = g(n)\nM(4)\nM(n=4)\n",
            "class M:\n    def __init__(self, n):\n        self.a = g(4)\n\nM(4)\nM(n=4)\n",
        ),
        (inlining.propose, "def f(x):\n    a, b = g(x)\n    return a * 2\nk(f)\n", "def f(x):\n    return g(x)[0] * 2\n\nk(f)\n"),
        (inlining.propose, "def f(x):\n    a, b = x or y\n    return b\nk(f)\n", "def f(x):\n    return (x or y)[1]\n\nk(f)\n"),
        (inlining.propose, "a.b = ModuleList([c()])\nf(a.b[0])\n", "a.b = c()\nf(a.b)\n"),
        (inlining.propose, "a = {'k': c}\nf(a['k'])\n", "a = c\nf(a)\n"),
        (inlining.propose, "a.b = ModuleList(c() for _ in range(3))\nf(a.b[0])\n", "a.b = c()\nf(a.b)\n"),
        (inlining.propose, "a = [c() for _ in range(3)]\nfor d in a:\n    d(1)\n", "a = c()\nfor d in [a]:\n    d(1)\n"),
        (inlining.propose, "a.b = Sequential(*[c(2) for _ in range(3)])\na.b(1)\n", "a.b = c(2)\na.b(1)\n"),
        (inlining.propose, "class C:\n    w: int = 3\nf(C().w)\n", "f(3)\n"),
        (inlining.propose, "a.b = [c()]\nf(next(iter(a.b)))\n", "a.b = c()\nf(a.b)\n"),
        (inlining.propose, "a.b, a.c = d, 1\nf(a.b, a.c)\nd = 1\n", "a.c = 1\nf(d, a.c)\nd = 1\n"),
        (
            inlining.propose,
            "def f(a, b):\n    g(a)\n    return h(b)\nx = f(1, b)\n",
            "a = 1\ng(a)\nx = h(b)\n",
        ),
        (
            definitions.propose,
            "def f(a, b):\n    return g(b)\nx = f(1, 2)\nx(3)\nf(1, 2)(4)\n",
            "def f(b):\n    return g(b)\n\nx = f(2)\nx(3)\nf(2)(4)\n",
        ),
        (
            inlining.propose,
            "def f(h):\n    def g():\n        nonlocal h\n        h = 1\n    g()\nk(f)\n",
            "def f(h):\n    h = 1\n\nk(f)\n",
        ),
        (definitions.propose, "@d(a=1)\nclass A:\n    pass\nA()\n", "@d\nclass A:\n    pass\n\nA()\n"),
        (definitions.propose, "def f(a, *, b):\n    g(a)\nf(1, b=2)\n", "def f(a):\n    g(a)\n\nf(1)\n"),
        (definitions.propose, "def f(*, b=1, **k):\n    g()\nf()\n", "def f(**k):\n    g()\n\nf()\n"),
        (definitions.propose, "def f(a, /, b):\n    g(b)\nf(1, 2)\n", "def f(b):\n    g(b)\n\nf(2)\n"),
        (definitions.propose, "def f(a, /):\n    g()\nf(1)\n", "def f():\n    g()\n\nf()\n"),
    ],
)  # fmt: skip
def test_plainer_forms(propose, text, expected):
    if "except*" in text:
        pytest.importorskip("asyncio.taskgroups")  # from 3.11 on
    assert expected in results(text, propose)


def test_what_is_given_more_than_once_or_read_more_than_once_stays_where_it_is():
    twice = "def f(a):\n    return a * a\nf([b])\n"
    compiled = "def f(a):\n    return a * 2\nf([b])\ntorch.compile(f)([b])\n"
    assert results(twice, parameters.propose) == results(compiled, parameters.propose) == []


def test_calls_that_give_different_literals_keep_their_parameter():
    text = "def f(a, b):\n    return a * b\nf(x, 2)\nf(x, b={})\n"
    assert results(text.format(3), parameters.propose) == []
    assert len(results(text.format(2), parameters.propose)) == 1


@pytest.mark.parametrize(
    "body", ["a, b = g(x)\n    return a * b", "a, b = g(x)\n    return a * a", "a, *b = g(x)\n    return a"]
)
def test_a_value_of_which_more_than_one_item_is_read_keeps_its_names(body):
    assert results(f"def f(x):\n    {body}\nk(f)\n", inlining.propose) == []


def test_a_method_that_became_a_function_is_named_like_one():
    text = "def __get__(x):\n    return x\n\n__get__(1)\n\nclass A:\n    def __get__(self):\n        pass\n\nA()\n"
    assert any(item.startswith("def f(x):") and "def __get__(self)" in item for item in results(text, renaming.propose))


def test_a_list_that_is_used_as_one_stays():
    assert not any("a = b" in item for item in results("a = [b]\nf(a[0], len(a))\n", inlining.propose))


def test_a_comment_that_goes_keeps_no_lines_apart():
    text = "import torch\ndef f():\n    pass\ntorch.compile(\n    f,  # all\n)\n"
    assert reduced(text, lambda candidate: "compile(\n    f" in candidate or "compile(f" in candidate, known=())[
        0
    ].endswith("torch.compile(f)\n")


def test_a_subscript_is_no_tuple_of_one():
    assert not any(",]" in item for item in results("a = x[:, 0]\n", expressions.propose))


def test_a_number_in_place_of_what_is_only_handed_over():
    text = "class Config:\n    pass\n\ndef f(x):\n    g(x)\n\ncompiled = torch.compile(f)\ncompiled(Config)\n"
    assert any(item.endswith("compiled(1)\n") and "Config" not in item for item in results(text, expressions.propose))
    assert not any("torch.compile(1)" in item for item in results(text, expressions.propose))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def g(x):\n    return f(x)\nvmap(g)(g(1))\n", ["vmap(f)(f(1))\n"]),
        ("vmap(lambda x, y: m.f(x, y))\n", ["vmap(m.f)\n"]),
        ("def h(a):\n    def g(x):\n        return a(x)\n    return vmap(g)\nh(1)\n",
         ["def h(a):\n    return vmap(a)\n\nh(1)\n"]),
        ("def g(x, y):\n    return grad(f, argnums=1)(x, y)\nvmap(g)\n", ["vmap(grad(f, argnums=1))\n"]),
        ("def g(x):\n    return grad(f)(x)\nc = compile(g)\nc(1, g(2))\n",
         ["g = grad(f)\nc = compile(g)\nc(1, g(2))\n"]),
        ("def g(x):\n    return grad(x.f)(x)\nvmap(g)\n", []),
        ("def g(x):\n    return grad(h(f))(x)\nvmap(g)\n", []),
        ("def g(x):\n    return f(x, 1)\nvmap(g)\n", []),
        ("def g(x):\n    return x.f(x)\nvmap(g)\n", []),
        ("@mark\ndef g(x):\n    return f(x)\nvmap(g)\n", []),
        ("def g(x):\n    return g(x)\nvmap(g)\n", []),
        ("vmap(lambda: f())\n", []),
    ],
)  # fmt: skip
def test_a_function_that_only_calls_another_gives_way_to_it(text: str, expected: list[str]):
    assert results(text, forwarding.propose) == expected


DATACLASS = """\
from dataclasses import dataclass
@dataclass
class N:
    a: str
    b: list = None
f(N('', [N('q'), N(a=1)]))
"""


def test_a_field_less_in_a_dataclass_and_in_all_calls_that_make_one():
    found = [text for text in results(DATACLASS, definitions.propose) if "dataclass" in text]
    head = "from dataclasses import dataclass\n\n@dataclass\nclass N:\n"
    assert f"{head}    b: list = None\n\nf(N([N(), N()]))\n" in found
    assert f"{head}    a: str\n\nf(N(''))\n" in found


def test_the_value_of_a_field_that_is_given_elsewhere_stays_where_it_is():
    text = "class C:\n    w: int = 3\nf(C(w=4).w)\n"
    assert [one for one in results(text, inlining.propose) if "f(3)" in one] == []


def test_a_result_in_place_of_its_call_makes_no_line_that_nobody_reads():
    text = f"def f(a):\n    return {' + '.join(['a.sum()'] * 9)}\ng(f(x), f(y))\n"
    assert [one for one in results(text, inlining.propose) if "f(x)" not in one] == []


@pytest.mark.parametrize("value", ["a.sum() + b", "stack([a(x) for x in b])", "a(b.c)", "a(*b)", "a(x=b)"])
def test_what_is_called_often_is_made_smaller_as_a_function(value):
    text = f"def f(a):\n    return {value}\nf(x)\nf(y)\nf(z)\n"
    assert [one for one in results(text, inlining.propose) if "f(x)" not in one] == []


LOOPED = """\
def batches(lengths):
    generator = Generator()
    for length in lengths:
        yield rand(length, generator)
def main():
    for tokens in batches((5, 9)):
        if not tokens:
            continue
        model(tokens)
main()
"""


def test_a_generators_loop_stands_for_the_loop_over_what_it_gives():
    (found,) = results(LOOPED, generators.propose)
    assert found == (
        "def main():\n"
        "    generator = Generator()\n"
        "    for length in (5, 9):\n"
        "        tokens = rand(length, generator)\n"
        "        if not tokens:\n"
        "            continue\n"
        "        model(tokens)\n\n"
        "main()\n"
    )


def test_what_such_a_generator_is_given_keeps_its_name_where_more_than_its_loop_reads_it():
    (found,) = results(LOOPED.replace("Generator()", "Generator(lengths)"), generators.propose)
    assert "    lengths = (5, 9)\n    generator = Generator(lengths)\n    for length in lengths:\n" in found


@pytest.mark.parametrize(
    "change",
    [
        ("generator)\n", "generator)\n        done()\n"),  # it goes on behind what it gives
        ("generator)\n", "generator)\n    yield 0\n"),
        ("        if not tokens", "        batches(1)\n        if not tokens"),
        ("in batches((5, 9)):", "in enumerate(batches((5, 9))):"),
        ("batches((5, 9))", "batches(lengths=(5, 9))"),
        ("def batches", "@cache\ndef batches"),
    ],
)
def test_other_generators_stay(change: tuple[str, str]):
    assert not results(LOOPED.replace(*change), generators.propose)
