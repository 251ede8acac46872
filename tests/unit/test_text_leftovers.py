"""A search that is cut short leaves nothing behind that nothing reads."""

from __future__ import annotations

from pathlib import Path

from text_helpers import TextOracle, TextRunner, Unlimited

from triage.judge.asking import StopReductionError
from triage.reduce.interface import Reduction
from triage.reduce.text.code.script import Script
from triage.reduce.text.leftovers import without_leftovers
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure
from triage.reduce.text.validity import Validity
from triage.reduce.text.watching.evidence import Module, Trace
from triage.trial.driver import Driver
from triage.trial.interface import Resources

CUT_SHORT = """\
import torch

class Integrator:
    def __init__(self, speeds, step=0.01):
        self.speeds = speeds
        self.step = step

    def run(self, start, times):
        here = 1
        self.speeds(times)

class Check:
    def check(self, path):
        times = torch.rand(5)
        start = times
        Integrator(torch.compile(path), 0.1).run(start, times)

Check().check(torch.sin)
"""


def test_what_nothing_reads_goes_at_once():
    least, *_, plain = (script.text for script in without_leftovers(Script(CUT_SHORT)))
    assert least == (
        "import torch\n\nclass Integrator:\n    def __init__(self, speeds):\n        self.speeds = speeds\n\n"
        "    def run(self, times):\n        self.speeds(times)\n\n"
        "def check(path):\n    times = torch.rand(5)\n    Integrator(torch.compile(path)).run(times)\n\ncheck(torch.sin)\n"
    )
    assert "start = times" in plain and "here" not in plain


def test_where_a_class_has_to_stay_parameters_go_by_themselves():
    text = "class A:\n    def __init__(self, bits):\n        pass\n    def f(self, x):\n        return x\nA(3).f(1)\n"
    found = [script.text for script in without_leftovers(Script(text))]
    assert "class" not in found[0]
    assert any("class A:" in text and "bits" not in text and "A().f(1)" in text for text in found)


def test_what_is_printed_is_called():
    text = "import torch\nx = torch.ones(1)\nprint('shape', tuple(x.shape))\nprint('out', torch.compile(abs)(x))\nprint(x)\n"
    less, *_ = without_leftovers(Script(text))
    assert less.text == "import torch\n\nx = torch.ones(1)\ntorch.compile(abs)(x)\n"


def test_a_call_whose_result_nothing_reads_may_be_the_one_that_fails():
    text = "import torch\ndef f(x):\n    torch.compile(abs)(x)\n    return x\nold = torch.ones(1)\ngot = f(torch.ones(2)) + 1\n"
    all_gone, called, *_ = (script.text for script in without_leftovers(Script(text)))
    assert "f(torch" not in all_gone
    assert called == "import torch\n\ndef f(x):\n    torch.compile(abs)(x)\n    return x\n\nf(torch.ones(2))\n"


def test_a_parameter_that_something_else_gives_stays():
    text = "import torch\ndef f(x, y):\n    return x\nassert [torch.func.grad(f), map(f, [1.0], [2.0])]\n"
    assert not list(without_leftovers(Script(text)))


def test_they_go_where_time_ended(monkeypatch) -> None:
    def late(search: Search, start: Script, rounds: int = 1) -> bool:
        raise StopReductionError

    def bench(prelude: str, *, private: bool = False) -> Bench:
        driver: Driver[Script] = Driver(
            Resources(
                TextRunner(),
                TextOracle(
                    lambda text: "speeds(times)" in text and "check(torch.sin)" in text and "class Integrator" in text
                ),
                Unlimited(),
                lambda *a, **k: None,
            ),
            lambda script: script.text,
        )
        return Bench(driver, Search(driver, 1, Unlimited()), lambda one: one.text, lambda one: one.text)

    monkeypatch.setattr(Search, "reduce", late)
    trace = Trace({"__main__": Module("__main__", CUT_SHORT)})
    around = Around(Path(), Path(), None, False, lambda kind, **facts: None)
    found = Reducing(bench, Validity(), lambda: trace, KnownFailure(0, (), "eager"), around, lambda: None).run()
    assert isinstance(found, Reduction) and not found.complete
    assert "start" not in found.source and "here" not in found.source
