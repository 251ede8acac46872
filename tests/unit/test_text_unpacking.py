"""Names that a value is unpacked into and that nothing reads go with the number of the values."""

from __future__ import annotations

import pytest
from text_helpers import results

from triage.reduce.text.passes.unpacking import propose

TEXT = "def f(x):\n    a, b, c, d = body(x)\n    return a + c\n\nbody = torch.nn.Linear({size}, 4)\nf(1.0)\n"


def test_the_number_that_says_how_many_there_are_changes_along() -> None:
    less = TEXT.replace("a, b, c, d", "a, c")
    assert results(TEXT.format(size=1), propose) == [less.format(size=1).replace("4)", "2)")]
    assert results(TEXT.format(size=4), propose)[0] == less.format(size=2).replace(
        "4)", "2)"
    )  # all that are equal, first


@pytest.mark.parametrize(
    "text",
    [
        "a, b = f(2)\nprint(a, b)\n",
        "a, b = 1, 2\nprint(a)\n",  # `unread` takes the pair
        "a, *b = f(2)\nprint(a)\n",
        "a, b = f(2)\n",
        "a, b = f(x)\nprint(a)\n",  # nothing says how many there are
        "x.a, x.b = f(2)\n",
    ],
)
def test_what_is_read_or_may_be_stays(text: str) -> None:
    assert results(text, propose) == []


def test_one_that_is_left_is_unpacked_as_before() -> None:
    assert results("a, b = x.chunk(2)\nprint(b)\n", propose) == ["(b,) = x.chunk(1)\nprint(b)\n"]


def test_a_tuple_of_one_goes_with_what_takes_it_out() -> None:
    text = "def f(x):\n    return {},\n\nf(1)\ng = torch.compile(f)\nprint(g(2)[0] - f(2)[0])\n"
    less = "def f(x):\n    return {}\n\nf(1)\ng = torch.compile(f)\nprint(g(2) - f(2))\n"
    assert results(text.format("x + 1"), propose) == [less.format("x + 1")]
    assert results(text.format("h(x)[0]"), propose) == [less.format("h(x)[0]")]  # another function's
    assert results(text.format("x, 1"), propose) == []
    assert results(text.format("x").replace("[0]", "[1]"), propose) == []


@pytest.mark.parametrize(
    ("loop", "less"),
    [
        ("for i, y in enumerate(x):\n    g(y)\n", "for y in x:\n    g(y)\n"),
        ("for i, (y, z) in enumerate(x):\n    g(y, z)\n", "for (y, z) in x:\n    g(y, z)\n"),
        ("for y, z in zip(x, w):\n    g(z)\n", "for z in w:\n    g(z)\n"),
        ("for k, v in x.items():\n    g(v)\n", "for v in x.values():\n    g(v)\n"),
        ("g([k for k, v in x.items()])\n", "g([k for k in x])\n"),
        ("for i, y in enumerate(x):\n    g()\n", "for y in x:\n    g()\n"),
    ],
)
def test_a_loop_takes_only_what_it_reads(loop: str, less: str) -> None:
    assert results(f"x = h()\n{loop}", propose) == [f"x = h()\n{less}"]


@pytest.mark.parametrize(
    "loop",
    [
        "for i, y in enumerate(x):\n    g(i, y)\n",
        "for i, y in enumerate(x):\n    g(i)\n",  # nothing shorter gives the numbers
        "for i, y in enumerate(x, 1):\n    g(i, y)\n",
        "for y, z in zip(x, x, strict=True):\n    g(z)\n",
        "for y, z in x:\n    g(z)\n",
    ],
)
def test_a_loop_that_reads_both_or_is_told_pairs_stays(loop: str) -> None:
    assert results(f"x = h()\n{loop}", propose) == []
