"""A list that the next statement fills is written out."""

from __future__ import annotations

import pytest
from text_helpers import results

from triage.reduce.text.passes.filling import propose


def test_what_is_appended_next_stands_in_the_list() -> None:
    text = "def f(x):\n    a = []\n    a.append(x)\n    return a\n\nf(1)\n"
    assert results(text, propose) == ["def f(x):\n    a = [x]\n    return a\n\nf(1)\n"]
    assert results("a = [1]\na.append(2)\nprint(a)\n", propose) == ["a = [1, 2]\nprint(a)\n"]


@pytest.mark.parametrize(
    "text",
    [
        "a = []\na.append(len(a))\nprint(a)\n",
        "a = []\nprint(a)\na.append(1)\n",
        "a = []\nb = [2]\nb[0].append(1)\nprint(a, b)\n",
        "a = ()\na.append(1)\nprint(a)\n",
        "a = []\na.extend([1])\nprint(a)\n",
    ],
)
def test_what_else_is_done_with_it_stays(text: str) -> None:
    assert results(text, propose) == []
