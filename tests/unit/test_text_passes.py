"""Each pass of the source reducer: what it proposes, as text."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from text_helpers import results

from triage.reduce.text.code.script import Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.finish.comments import lines_of, without_stale
from triage.reduce.text.passes import (
    FEWER,
    POLISH,
    TABLE,
    arguments,
    brackets,
    cheaper,
    definitions,
    expressions,
    imports,
    inlining,
    items,
    literals,
    renaming,
    unwrapping,
)
from triage.reduce.text.passes.statements import at_depth, runs


def test_statements_are_taken_from_the_last():
    script = Script("a = 1\nb = 2\n")
    assert [tidy(script.replaced(choice.alternatives[0])) for choice in at_depth(script, 0)] == ["a = 1\n", "b = 2\n"]


def test_a_function_less_in_a_table_and_no_value_less():
    script = Script(
        "def a():\n    pass\n\nclass B:\n    pass\n\n"
        "RULES = [a, B]\nTABLE: dict = {'a': a, 'n': 1}\nCLAMP = [0.2, 0.8]\ndef f():\n    x = [a]\n"
    )
    found = [script.replaced(choice.alternatives[0]) for choice in items.propose(script)]
    assert [next(line for line in text.splitlines() if line not in script.text.splitlines()) for text in found] == [
        "RULES = [B]",
        "RULES = [a]",
        "TABLE: dict = {'n': 1}",
    ]


def test_a_number_is_written_where_a_conversion_loses_what_it_converts():
    assert "f(0)\n" in results("f(int(n))\n", arguments.propose)
    assert "a = int().real\n" in results("a = int(n).real\n", arguments.propose)
    assert "a = g()\n" in results("a = g(n)\n", arguments.propose)


def test_torch_compile_keeps_what_it_compiles():
    assert results("step = torch.compile(f, dynamic=True)\n", arguments.propose) == ["step = torch.compile(f)\n"]


def test_a_block_that_loses_everything_keeps_a_pass():
    script = Script("for i in x:\n    print(i)\n")
    (choice,) = at_depth(script, 1)
    assert tidy(script.replaced(choice.alternatives[0])) == "for i in x:\n    pass\n"


def test_all_statements_of_a_value_go_together():
    assert "b = 3\n" in results("a = 1\nb = 3\na.c = 2\n", runs)


@pytest.mark.parametrize(
    "mark", ["suppress.register_fake", 'torch.library.register_fake("ns::suppress")', 'suppress.register_kernel("cpu")']
)
def test_a_parameter_of_a_custom_operator_goes_from_what_is_registered_with_it(mark):
    text = (
        'from torch import library\n\n@library.custom_op("ns::suppress", mutates_args=())\ndef suppress(a: T, b: T) -> T:\n'
        f"    return a.clone()\n\n@{mark}\ndef _(x, y):\n    return x\n\nsuppress(1, 2)\n"
    )
    less = text.replace("a: T, b: T", "a: T").replace("x, y", "x").replace("1, 2", "1")
    found = results(text, definitions.propose)
    assert less in found and not [each for each in found if "def _(x)" in each and "a: T, b" in each]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with a:\n    b\n", "b\n"),
        ("with open(x) as f:\n    f()\n", "f = open(x)\nf()\n"),
        ("with a, b:\n    c\n", "with a:\n    c\n"),
        ("if a:\n    b\nelse:\n    c\n", "c\n"),
        ("if a:\n    b\nelif d:\n    c\n", "if d:\n    c\n"),
        ("for i in [4, 5]:\n    b(i)\n", "i = 4\nb(i)\n"),
        ("for i in range(2, 5):\n    b(i)\n", "i = 2\nb(i)\n"),
        ("for i in y:\n    b(i)\n", "i = next(iter(y))\nb(i)\n"),
        ("while a:\n    b\n", "b\n"),
        ("try:\n    a\nexcept E:\n    b\nfinally:\n    c\n", "a\nc\n"),
        ("try:\n    a\nexcept E:\n    b\nexcept F:\n    c\n", "try:\n    a\nexcept F:\n    c\n"),
    ],
)
def test_unwrapping(text, expected):
    assert expected in results(text, unwrapping.propose)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(a, b=1, c=2)\n", "f(a, c=2)\n"),
        ("f(a, b=1, c=2)\n", "f(a, b=1)\n"),
        ("f(a=1)\n", "f()\n"),
        ("f(a, b)\n", "f(b)\n"),
    ],
)
def test_arguments(text, expected):
    assert expected in results(text, arguments.propose)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@a\ndef f():\n    pass\nf()\n", "def f():\n    pass\n\nf()\n"),
        ("class A(B):\n    pass\nA()\n", "class A:\n    pass\n\nA()\n"),
        ("class A(B):\n    pass\nA()\n", "class A(torch.nn.Module):\n    pass\n\nA()\n"),
        ("class A(B, C):\n    pass\nA()\n", "class A(B):\n    pass\n\nA()\n"),
        ("def f(x: int) -> str:\n    pass\nf(1)\n", "def f(x) -> str:\n    pass\n\nf(1)\n"),
        ("def f(x: int) -> str:\n    pass\nf(1)\n", "def f(x: int):\n    pass\n\nf(1)\n"),
        ("x: int = 3\n", "x = 3\n"),
        ("def f(x, y=3):\n    pass\nf(1)\n", "def f(x, y):\n    pass\n\nf(1)\n"),
        ("def f(x, y=3):\n    pass\nf(1, 2)\n", "def f(x):\n    pass\n\nf(1)\n"),
        ("def f(x, y):\n    pass\nf(1, y=2)\n", "def f(x):\n    pass\n\nf(1)\n"),
        (
            "def f(x, y):\n    pass\ng = torch.compile(f)\ng(1, 2)\n",
            "def f(y):\n    pass\n\ng = torch.compile(f)\ng(2)\n",
        ),
        ("def f(x, y):\n    pass\ntorch.compile(f)(1, 2)\n", "def f(x):\n    pass\n\ntorch.compile(f)(1)\n"),
        (
            "class A:\n    def __init__(self, n):\n        pass\na = A(3)\n",
            "class A:\n    def __init__(self):\n        pass\n\na = A()\n",
        ),
    ],
)
def test_definitions(text, expected):
    assert expected in results(text, definitions.propose)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = f(x) + 1\n", "y = f(x)\n"),
        ("y = f(x)\n", "y = x\n"),
        ("y = a.b(x)\n", "y = a\n"),
        ("y = (a + b) * c\n", "y = a + b\n"),
        ("y = -(a + b).c\n", "y = -(a + b)\n"),
        ("y = a if b else c\n", "y = c\n"),
        ("y = [1, 2]\n", "y = [2]\n"),
        ("y = (1, 2)\n", "y = (1,)\n"),
        ("y = read(path, 3)[1]\n", "y = torch.ones(2)\n"),
        ("y = [i for i in z]\n", "y = []\n"),
        ("y = {1: 2, 3: 4}\n", "y = {3: 4}\n"),
        ("y = {1: 2}\n", "y = {}\n"),
        ("y = [f(i) for i in z]\n", "y = f(i)\n"),
        ("y = f(x)\n", "f(x)\n"),
        ("def f():\n    return x\nf()\n", "def f():\n    x\n\nf()\n"),
        ("if a == b:\n    c\n", "if True:\n    c\n"),
    ],
)
def test_expressions(text, expected):
    assert expected in results(text, expressions.propose)


def test_an_attribute_that_is_named_by_a_string_is_named_plainly() -> None:
    assert "y = A.b.c\n" in results('y = getattr(A.b, "c")\n', expressions.propose)
    assert "y = A.b\n" in results('y = getattr(A, "b", None)\n', expressions.propose)
    assert not any("A." in text for text in results('y = getattr(A, "b c")\n', expressions.propose))


def test_a_package_and_a_number_take_no_place_where_nothing_computes_with_them() -> None:
    head = "import torch\nfrom torch.nn import functional as F\nimport numpy as np\n"
    found = results(f"{head}y = F.relu(torch.nn.functional.pad(x, np.n))\n", expressions.propose)
    tails = {text.splitlines()[-1] for text in found}
    assert {
        "y = F.relu(x)",
        "y = F.relu(torch.nn.functional.pad(x, 1))",
        "y = torch.nn.functional.pad(x, np.n)",
    } <= tails
    assert not any(re.search(r"\b(?:F|torch|nn|functional|np)\b(?!\.)|1\(", tail) for tail in tails)
    assert "y = self(x)\n" in results("y = self.forward(x)\n", expressions.propose)


def test_a_call_stands_for_what_it_lies_deep_within():
    found = results("x = x + m(x, cache.get(key(k)))\n", expressions.propose)
    assert {"x = cache.get(key(k))\n", "x = key(k)\n", "x = m(x, cache.get(key(k)))\n"} <= set(found)
    assert "x = f(b)\n" not in results("x = g(a, max(f(b) for b in c))\n", expressions.propose)


def test_a_comprehension_in_a_call_becomes_one_turn_of_it_with_what_is_gone_through():
    found = results("ok = all(torch.equal(a, b) for a, b in zip(x, m.y, strict=True))\n", expressions.propose)
    assert {"ok = torch.equal(x, m.y)\n", "ok = torch.equal(x[0], m.y[0])\n"} <= set(found)
    found = results("loss = sum([p.norm() + 1 for p in net.parameters()]) * 2\n", expressions.propose)
    assert "loss = (next(iter(net.parameters())).norm() + 1) * 2\n" in found


def test_the_parts_of_an_f_string_are_left_alone():
    ast_of = [ast.parse(text) for text in results('y = f"{a + b} {c.d}"\n', expressions.propose)]
    assert all(isinstance(tree, ast.Module) for tree in ast_of)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DataLoader(d, num_workers=2, shuffle=True, prefetch_factor=4)\n", "DataLoader(d, shuffle=True)\n"),
        ("DataLoader(d, persistent_workers=True, num_workers=w)\n", "DataLoader(d)\n"),
        ("for i in range(100):\n    f(i)\n", "for i in range(1):\n    f(i)\n"),
        ("for i, x in zip(range(0, 9), d):\n    f(i)\n", "for i, x in zip(range(0, 2), d):\n    f(i)\n"),
        ("steps = 100\nfor i in range(steps):\n    f(i)\n", "steps = 1\nfor i in range(steps):\n    f(i)\n"),
        (
            "c = Config(depth=6)\nh = [Block(c) for _ in range(c.depth)]\n",
            "c = Config(depth=1)\nh = [Block(c) for _ in range(c.depth)]\n",
        ),
    ],
)
def test_what_takes_long_is_made_cheap_first(text, expected):
    assert expected in results(text, cheaper.propose) and TABLE[0].propose is cheaper.propose


def test_the_number_of_turns_is_found_where_it_is_given():
    text = "class T:\n    def __init__(self, n, width):\n        self.most = n\n        self.width = width\n\nt = T(8, 4)\n"
    text += "for i in range(t.most):\n    f(i)\n"
    assert results(text, cheaper.propose) == [text.replace("8", "1"), text.replace("8", "2")]


def test_equal_numbers_change_together():
    found = results("a = f(64, 3)\nb = g(64)\n", literals.propose)
    assert found[0] == "a = f(1, 3)\nb = g(1)\n"
    assert "a = f(32, 3)\nb = g(32)\n" in found
    assert "a = f(1, 3)\nb = g(64)\n" in found  # later: one by one


def test_a_number_never_becomes_zero():
    assert not any("(0" in text for text in results("a = f(8)\n", literals.propose))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = x[1]\n", ["a = x[0]\n"]),
        ("a = x[:, 1]\n", ["a = x[:, 0]\n"]),
        ("a = x[1:]\n", []),  # a size
        ("a = x[-1]\n", []),
        ("x[1] = 2\n", ["x[1] = 1\n"]),
        ("a = x[0]\n", []),
    ],
)
def test_an_index_may_be_0(text: str, expected: list[str]):
    assert results(text, literals.propose) == expected


@pytest.mark.parametrize("condition", ['"relu" in str(x)', '"relu" not in x.name', 'x.name.startswith("relu")'])
def test_a_text_that_is_looked_for_is_not_found_in_more(condition: str) -> None:
    assert results(f"if {condition}:\n    raise Error\n", literals.propose) == []
    assert results('if x == "relu" or "relu" in ["relu", y]:\n    pass\n', literals.propose)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def main():\n    a = 1\n    print(a)\nmain()\n", "a = 1\nprint(a)\n"),
        ("def make():\n    return 3\nx = make()\n", "x = 3\n"),
        ("def f(a):\n    return a + 1\ny = f(z) * 2\n", "y = (z + 1) * 2\n"),
        ("def f(m):\n    return m(x)\ny = f(a)\nz = f(b)\nw = f(c)\n", "y = a(x)\nz = b(x)\nw = c(x)\n"),
        ("a = b\nprint(a, a)\n", "print(b, b)\n"),
        ("def g(x):\n    h = f(x)\n    return h\ng(1)\n", "def g(x):\n    return f(x)\n\ng(1)\n"),
    ],
)
def test_inlining(text, expected):
    assert expected in results(text, inlining.propose)


def test_at_module_level_a_line_per_step_stays():
    assert "print(f(1))\n" not in results("a = f(1)\nprint(a)\n", inlining.propose)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\nimport torch.nn as nn\nnn.Linear\n", "import torch\n\ntorch.nn.Linear\n"),
        (
            "import torch\nfrom torch.nn import functional as F\nF.relu(torch)\n",
            "import torch\n\ntorch.nn.functional.relu(torch)\n",
        ),
        ("from torch import nn\nnn.Linear\n", "import torch\n\ntorch.nn.Linear\n"),
    ],
)
def test_imports(text, expected):
    assert expected in results(text, imports.propose)


@pytest.mark.parametrize(
    "line",
    [
        "from torch.nn.attention.flex_attention import flex_attention as f",
        "from torch._inductor.codegen.wrapper import PythonWrapperCodegen as f",
        "import torch._functorch.config as f",
        "from torch.nn.utils import prune as f",
    ],
)
def test_a_module_that_torch_does_not_bring_stays_imported(line):
    text = f"import torch\n{line}\n\nf.x = 1\n"
    path = re.sub(r"from (\S+) import (\S+) as f|import (\S+) as f", lambda at: at[3] or f"{at[1]}.{at[2]}", line)
    program = f"import torch\n{path}"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode  # it is not there by itself
    assert not results(text, imports.propose)


def test_a_module_that_torch_brings_is_there():
    found = "".join(
        f"torch.{name}\n" for name in sorted(imports._WITH_TORCH - {"_dynamo", "_inductor", "_inductor.config"})
    )
    subprocess.run([sys.executable, "-c", f"import torch\n{found}"], check=True)


def test_names_become_short_but_attributes_and_keywords_keep_theirs():
    text = "def normalise(values):\n    return values.normalise(values=values)\nnormalise(1)\n"
    assert results(text, renaming.propose) == [
        "def f(values):\n    return values.normalise(values=values)\n\nf(1)\n",
        "def normalise(x):\n    return x.normalise(values=x)\n\nnormalise(1)\n",
    ]


PROGRAM = """
import torch
from torch import nn


class Net(nn.Module):
    '''Doc.'''

    def __init__(self, width: int = 4):
        super().__init__()
        self.a = nn.Linear(width, width)  # kept

    def forward(self, x, *, scale=2.0):
        for i in range(3):
            if i:
                x = self.a(x) * scale
            elif x is None:
                continue
            else:
                x = -x
        with torch.no_grad():
            try:
                y = {"a": [x, (1, 2)], "é": f"{x.shape} {i!r}"}
            except (ValueError, KeyError) as error:
                raise RuntimeError from error
        return y["a"][0] if len(y) > 1 and y else lambda z: z


compiled = torch.compile(Net(width=8), fullgraph=True)
compiled(torch.randn(2, 8), scale=3.0)
"""


@pytest.mark.parametrize("one", TABLE, ids=lambda one: one.name)
def test_a_pass_is_deterministic_and_its_edits_lie_within_the_text(one):
    script = Script(PROGRAM)
    first, again = list(one.propose(script)), list(one.propose(Script(PROGRAM)))
    assert first == again
    for choice in first:
        for edits in choice.alternatives:
            assert edits
            assert all(0 <= edit.start <= edit.end <= len(PROGRAM) for edit in edits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('s[f"layer_{i:03d}.w"] = x\n', ['s[""] = x\n', 's[f"{i}"] = x\n']),
        ("s[f'{i}_{d[\"a\"]!r}'] = x\n", ['s[""] = x\n', "s[f\"{i}{d['a']}\"] = x\n"]),
        ('s[f"{i}"] = x\n', ['s[""] = x\n']),
        ('s[f"{0} of {4!r}"] = x\n', ['s[""] = x\n', 's[f"{0}{4}"] = x\n']),
        ('s[f"{0} of {4:d}"] = x\n', ['s[""] = x\n', 's[f"{0}{4}"] = x\n']),
        ('s[f"{0} of {True}"] = x\n', ['s[""] = x\n', 's[f"{0}{True}"] = x\n', 's["0 of True"] = x\n']),
        ('s[f"it\'s"] = x\n', ['s[""] = x\n', 's[f""] = x\n', 's["it\'s"] = x\n']),
    ],
)
def test_a_text_put_together_keeps_only_what_it_is_put_together_of(text: str, expected: list[str]) -> None:
    assert results(text, literals.propose) == expected


def test_a_file_of_many_lines_by_its_first():
    assert "x = 'a\\n'\n" in results("x = 'a\\nb\\nc\\nd\\n'\n", literals.propose)


def test_what_a_test_compares_with_is_no_test():
    """`if "__main__":` is always true, which a reader of a reproducer takes for a slip."""
    found = results('if __name__ == "__main__":\n    f()\n', expressions.propose)
    assert 'if "__main__":\n    f()\n' not in found and "if True:\n    f()\n" in found
    assert "while x:\n    f()\n" in results("while x > 0:\n    f()\n", expressions.propose)


def test_what_is_looked_for_in_a_tuple_is_not_looked_for_in_its_element():
    found = results('if op in ("call", "get"):\n    f()\n', expressions.propose)
    assert not any('in "' in text for text in found) and 'if op in ("call",):\n    f()\n' in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f((x) + 1)\n", "f(x + 1)\n"),
        ("y = (x + 1)\n", "y = x + 1\n"),
        ("f(((x)))\n", "f(x)\n"),
        ('f(\n    a,\n    b="c",\n)\n', 'f(a, b="c")\n'),
        ("def f():\n    return [a,]\nf()\n", "def f():\n    return [a]\n\nf()\n"),
        ("f(\n    [\n        1\n        + 2\n    ],\n    (a,),\n)\n", "f([1 + 2], (a,))\n"),
        ("x = (\n    a,\n)\n", "x = (a,)\n"),
        ("if (top).any():\n    f(1)\n", "if top.any():\n    f(1)\n"),
        ("with (torch).no_grad(), g((1)):\n    f(1)\n", "with torch.no_grad(), g(1):\n    f(1)\n"),
        ("for i in range((3)):\n    f((i))\n", "for i in range(3):\n    f(i)\n"),
    ],
)
def test_brackets_that_the_contents_do_not_need(text, expected):
    assert results(text, brackets.propose) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "f(x)\n", "x = (1, 2)\n", "x[a,]\n", "a * (b + c)\n", "x = (y := 3)[1]\n",
        "class A(B):\n    pass\n", f"f(\n    {'a' * 60},\n    {'b' * 60},\n)\n", "f(\n    'a'  # b\n)\n", 'f("""\na""")\n',
        "print((yield))\n",
    ],
)  # fmt: skip
def test_brackets_that_are_needed_stay(text):
    assert results(text, brackets.propose) == []


def test_comments_that_still_hold_stay():
    known = lines_of(["# By Anna\nimport torch\n# doubles\ny = x * 2\nz = y  # named\nz.add_(3)  # in place\n"])
    script = Script(
        "# By Anna\nimport torch\n# doubles\ny = x * 2\nz = a  # named\n# gone\nz.add_(1)  # in place\nz.b\n"
    )
    kept = without_stale(script, known).text
    assert kept == "import torch\n# doubles\ny = x * 2\nz = a\nz.add_(1)\nz.b\n"


def test_each_pass_is_a_row_and_a_file():
    files = {file.stem for file in Path(imports.__file__).parent.glob("*.py")}
    rows = dict.fromkeys((*TABLE, *POLISH, *FEWER))
    modules = [one.propose.__module__.rsplit(".", 1)[1] for one in rows]
    assert files - {"__init__", "choice"} == set(modules) and len(set(modules)) == len(modules)
