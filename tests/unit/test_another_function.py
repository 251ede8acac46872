"""Whether the operation of a reduced text matters to how it fails. No torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from stand_ins import failing, inquiry

from triage.culprit.another_function import fails_with_another, with_another

TEXT = "import torch\nmodel = torch.compile(torch.nn.Linear(1, 1), backend='aot_eager')\ntorch.vmap(model)(x)\n"


def test_what_is_compiled_is_another_function() -> None:
    another = with_another(TEXT, "torch.tanh")
    assert another == TEXT.replace("torch.nn.Linear(1, 1)", "lambda first, *rest: torch.tanh(first)").rstrip()


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n@torch.compile\ndef f(x): return x\n",
        "import torch\n@torch.compile(backend='eager')\ndef f(x): return x\n",
        TEXT + "again = torch.compile(f)\n",
        TEXT + "again = torch.compile\n",
        "def (",
    ],
)
def test_a_text_that_compiles_otherwise_or_more_is_not_asked(text: str) -> None:
    assert with_another(text, "torch.tanh") is None


@pytest.mark.parametrize(
    ("fails", "outcome"),
    [
        (lambda text: "vmap" in text, "same_failure"),
        (lambda text: "tanh" not in text, "same_failure"),  # the next of them tells
        (lambda text: "Linear" in text, None),
    ],
)
def test_only_that_it_fails_as_before_tells_something(fails: Callable[[str], bool], outcome: str | None) -> None:
    row = fails_with_another(TEXT, "another operation", ("torch.tanh", "torch.sin"), inquiry(failing(fails)))
    assert (row.outcome if row is not None else None) == outcome
