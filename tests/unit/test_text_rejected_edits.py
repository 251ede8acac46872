"""An edit that was tried in vain is not tried again until what it takes away is named elsewhere less often."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from text_helpers import reduced

from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.search import RejectedEdits

TEXT = "a = 1\nb = 2\nprint(a)\n"


def deletion(script: Script, line: str) -> tuple[Edit, ...]:
    start = script.text.index(line)
    return (Edit(start, start + len(line)),)


def test_the_same_edit_at_another_place_of_the_text_is_known():
    vain, script, shorter = RejectedEdits(), Script(TEXT), Script(TEXT.replace("b = 2\n", ""))
    vain.add(script, deletion(script, "print(a)\n"))
    assert vain.has(shorter, deletion(shorter, "print(a)\n"))
    assert not vain.has(shorter, deletion(shorter, "a = 1\n"))


def test_a_definition_may_go_once_its_use_has_gone():
    vain, script, shorter = RejectedEdits(), Script(TEXT), Script(TEXT.replace("print(a)\n", ""))
    vain.add(script, deletion(script, "a = 1\n"))
    assert vain.has(script, deletion(script, "a = 1\n"))
    assert not vain.has(shorter, deletion(shorter, "a = 1\n"))


def test_a_last_round_asks_everything():
    vain, script = RejectedEdits(), Script(TEXT)
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
    monkeypatch.setattr(RejectedEdits, "has", lambda *_: False)
    same, more = reduced(MODEL, fails, checked=True)
    assert found == same
    assert queries < more


STALE = """\
import torch
class Cache:
    def __init__(self, names):
        self.store = dict.fromkeys(names, 3.0)
    def touch(self, name):
        self.store[name] = self.store.pop(name) + 1.5
    def oldest(self):
        return next(iter(self.store.values()))
def scaled(x, by=2.0):
    return (x * by + 1.0) / max(x, 1) - min(x, 0.25) * abs(by - 7.0)
def f(x):
    return scaled(x) * cache.oldest() + scaled(x + 0.5, by=4.0) * 0.1 - (x - 3.0) / 8.0
cache = Cache(["a", "b", "c"])
g = torch.compile(f)
for name in ["a", "b", "c", "a"]:
    got, want = g(1.5) * 2.0 + 1.0, f(1.5) * 2.0 + 1.0
    assert got == want, f"{name}: {got} and {want}"
    cache.touch(name)
"""


def stale(text: str) -> bool:
    """Whether the program's own check fails where what is compiled gives its first result for ever, and else passes."""

    def first(function: Callable[..., object], **_: object) -> Callable[..., object]:
        given: list[object] = []
        return lambda *args: given[0] if given else given.append(function(*args)) or given[0]

    def ends(compiler: object) -> str:
        torch = SimpleNamespace(compile=compiler)
        found = {**vars(builtins), "__import__": lambda name, *_: torch if name == "torch" else __import__(name)}
        try:
            exec(text, {"__builtins__": found})
        except Exception as error:  # noqa: BLE001 - a candidate may do anything
            return type(error).__name__
        return ""

    return ends(first) == "AssertionError" and ends(lambda function, **_: function) == ""


def test_a_class_is_dissolved_before_every_expression_of_the_program_has_been_asked():
    without: list[int] = []
    numbers = itertools.count(1)

    def fails(one: str) -> bool:
        number, same = next(numbers), stale(one)
        if same and "class" not in one:
            without.append(number)
        return same

    found, _ = reduced(STALE, fails, checked=True)
    assert found.count("\n") < 14
    assert without[0] < 40
