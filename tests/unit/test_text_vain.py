"""An edit that was tried in vain is not tried again until what it takes away is named elsewhere less often."""

from __future__ import annotations

import pytest
from text_helpers import reduced

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.vain import Vain

TEXT = "a = 1\nb = 2\nprint(a)\n"


def deletion(script: Script, line: str) -> tuple[Edit, ...]:
    start = script.text.index(line)
    return (Edit(start, start + len(line)),)


def test_the_same_edit_at_another_place_of_the_text_is_known():
    vain, script, shorter = Vain(), Script(TEXT), Script(TEXT.replace("b = 2\n", ""))
    vain.add(script, deletion(script, "print(a)\n"))
    assert vain.has(shorter, deletion(shorter, "print(a)\n"))
    assert not vain.has(shorter, deletion(shorter, "a = 1\n"))


def test_a_definition_may_go_once_its_use_has_gone():
    vain, script, shorter = Vain(), Script(TEXT), Script(TEXT.replace("print(a)\n", ""))
    vain.add(script, deletion(script, "a = 1\n"))
    assert vain.has(script, deletion(script, "a = 1\n"))
    assert not vain.has(shorter, deletion(shorter, "a = 1\n"))


def test_a_last_round_asks_everything():
    vain, script = Vain(), Script(TEXT)
    vain.add(script, deletion(script, "a = 1\n"))
    vain.ignored = True
    assert not vain.has(script, deletion(script, "a = 1\n"))


MODEL = """\
import torch
class M(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = torch.nn.Linear(d, d)
        self.b = torch.nn.Linear(d, d)
    def forward(self, x):
        y = self.a(x).relu()
        if y.sum() > 0:
            y = y + self.b(y) * 3
        return bad(y.view(2, 2), 1.5)
def bad(x, s):
    z = x * s
    return z.t() + z
model = M(4)
x = torch.randn(4)
torch.compile(model)(x)
"""


def test_rounds_before_the_last_ask_only_what_is_new(monkeypatch: pytest.MonkeyPatch):
    def fails(one: str) -> bool:
        return all(part in one for part in ("bad(", "z.t()", "compile(model", "self.a(", "= M("))

    found, queries = reduced(MODEL, fails, checked=True)
    monkeypatch.setattr(Vain, "has", lambda *_: False)
    same, more = reduced(MODEL, fails, checked=True)
    assert found == same
    assert queries < more
