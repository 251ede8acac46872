"""The line that shows that the same call passes uncompiled, and where it would show nothing."""

from __future__ import annotations

import pytest

from triage.reduce.text.code.script import Script
from triage.reduce.text.finish.eager_first import eager_first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c = torch.compile(f)\nc(x)\n", "c = torch.compile(f)\nf(x)  # eager works\nc(x)\n"),
        ("torch.compile(M())(x)\n", "M()(x)  # eager works\ntorch.compile(M())(x)\n"),
        (
            "c = torch.compile(lambda x: x)\nc(1)\n",
            "c = torch.compile(lambda x: x)\n(lambda x: x)(1)  # eager works\nc(1)\n",
        ),
        (
            "c = torch.compile(M(2), fullgraph=True)\nfor i in range(2):\n    y = c(i) + 1\n",
            "eager = M(2)\nc = torch.compile(M(2), fullgraph=True)\nfor i in range(2):\n"
            "    eager(i)  # eager works\n    y = c(i) + 1\n",
        ),
        (
            "@torch.compile(fullgraph=True)\ndef f(x):\n    pass\nf(1)\n",
            "def f(x):\n    pass\nf(1)  # eager works\ntorch.compile(f, fullgraph=True)(1)\n",
        ),
    ],
)
def test_eager_first(text, expected):
    assert [script.text for script in eager_first(Script(text))] == [expected]


def test_eager_is_called_as_often_as_what_is_compiled():
    """The failure may lie in what an earlier call left."""
    text = "c = torch.compile(f)\nc(1)\nc(2)\n"
    made, eager = "c = torch.compile(f)\n", "  # eager works\n"
    assert [script.text for script in eager_first(Script(text))] == [
        f"{made}f(1){eager}f(2){eager}c(1)\nc(2)\n",
        f"{made}f(1){eager}c(1)\nf(2){eager}c(2)\n",
        f"{made}f(1){eager}c(1)\nc(2)\n",
    ]
    apart = "c = torch.compile(f)\ny = c(1)\nc(y)\n"
    assert [script.text for script in eager_first(Script(apart))] == [
        f"{made}f(1){eager}y = c(1)\nf(y){eager}c(y)\n",
        f"{made}f(1){eager}y = c(1)\nc(y)\n",
    ]
    often = f"{made}c(1)\nc(2)\nc(3)\nc(4)\n"
    assert [script.text for script in eager_first(Script(often))] == [often.replace("c(1)", f"f(1){eager}c(1)")]


def test_eager_has_an_object_of_its_own_that_is_made_once():
    text = "eager = 1\nc = torch.compile(M().run)\nc(eager)\nc(2)\n"
    made, eager = "eager = 1\nuncompiled = M().run\nc = torch.compile(M().run)\n", "  # eager works\n"
    assert [script.text for script in eager_first(Script(text))] == [
        f"{made}uncompiled(eager){eager}uncompiled(2){eager}c(eager)\nc(2)\n",
        f"{made}uncompiled(eager){eager}c(eager)\nuncompiled(2){eager}c(2)\n",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("p = torch.export.export(m, (x, y))\n", "m(x, y)"),
        ("torch.export.export(M(), args)\n", "M()(*args)"),
        ("torch.jit.trace(lambda x: x, (x,))\n", "(lambda x: x)(x)"),
    ],
)
def test_eager_first_before_another_door(text, line):
    assert [script.text for script in eager_first(Script(text))] == [f"{line}  # eager works\n{text}"]


def test_a_script_that_calls_the_plain_function_needs_no_more():
    assert list(eager_first(Script("f(x)\nc = torch.compile(f)\nc(x)\n"))) == []
    assert list(eager_first(Script("c = torch.compile(np.fix)\nassert_close(c(x), np.fix(x))\n"))) == []


@pytest.mark.parametrize(
    "made", ["f = make()\neager = make()\nc = torch.compile(f)\n", "eager = make()\nc = torch.compile(make())\n"]
)
def test_beside_one_that_is_made_alike_and_called_alike_no_further_call_is_told(made):
    """It would be one of what the compiled calls change."""
    assert list(eager_first(Script(f"{made}c(x)\ncheck(c(x), eager(x))\n"))) == []
    assert list(eager_first(Script(f"{made}c(x)\ncheck(c(x), eager(y))\n")))
    assert list(eager_first(Script(f"{made}c(x)\n".replace("eager = make()", "eager = other()"))))
