"""What a program of known fate is, and the forms that several have."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import torch\nimport torch.nn.functional as F\n\ntorch.manual_seed(0)\n"
CHECKED = """
{given}


def step({names}):
    return {body}


expected = step(*given)
torch.testing.assert_close(torch.compile(step{options})(*given), expected, equal_nan=True)
"""
TRAINED = """
{given}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, {names}):
        return {body}


model = Model()
expected = model(*given)
torch.testing.assert_close(torch.compile(model{options})(*given), expected, equal_nan=True)
"""


def complex_pair(rows: int) -> str:
    return f"given = tuple(torch.randn(2, {rows}, 3, dtype=torch.complex64))"


@dataclass(frozen=True)
class Bug:
    """`fate` as in sweep.json; `stage` may name alternatives. `faces` are whole programs without their head."""

    name: str
    stage: str
    faces: tuple[str, ...]
    fate: str = "fails"


def checked(given: str, names: str, body: str, options: str = "", text: str = CHECKED) -> str:
    return text.format(given=given, names=names, body=body, options=options)
