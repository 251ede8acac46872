"""A text whose own check fails keeps the seeds of what it draws, until it is shown to fail each time without."""

from __future__ import annotations

from pathlib import Path

import pytest
from text_helpers import TextOracle, TextRunner, Unlimited

from triage.judge.judgement import RefusedError
from triage.reduce.interface import Reduction
from triage.reduce.text.code.script import Script
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure
from triage.reduce.text.validity import RULES, SEEDED, Validity
from triage.reduce.text.validity.seeding import unseeded, without_seeds
from triage.reduce.text.watching.evidence import Module, Trace
from triage.trial.driver import Driver
from triage.trial.interface import Resources

TORCH = "nothing seeds the random numbers of torch"
NUMPY = "nothing seeds the random numbers of numpy"
RANDOM = "nothing seeds the random numbers of random"


@pytest.mark.parametrize(
    ("text", "flaws"),
    [
        ("x = torch.randn(3)\n", [TORCH]),
        ("layer = torch.nn.Linear(3, 3)\n", [TORCH]),
        ("from torch.nn import Linear\nlayer = Linear(3, 3)\n", [TORCH]),
        ("torch.manual_seed(0)\nx = torch.randn(3)\n", []),
        ("torch.seed()\nx = torch.randn(3)\n", [TORCH]),
        ("def setup():\n    torch.manual_seed(0)\nsetup()\nx = torch.randn(3)\n", []),
        ("def setup():\n    torch.manual_seed(0)\nx = torch.randn(3)\n", [TORCH]),
        ("g = torch.Generator().manual_seed(0)\nx = torch.randn(3, generator=g)\n", []),
        ("g = torch.Generator().manual_seed(0)\nx = torch.randn(3, generator=g)\nm = torch.nn.Linear(3, 1)\n", [TORCH]),
        ("from torch.nn import Linear\ng = torch.Generator().manual_seed(0)\nm = Linear(3, 1)\n", [TORCH]),
        ("g = torch.Generator().manual_seed(0)\nx = torch.nn.Parameter(torch.randn(3, generator=g))\n", []),
        ("g = torch.Generator().manual_seed(0)\nx = torch.randn(3)\n", [TORCH]),
        ("x = torch.ones(3)\noperand = random = 1\n", []),
        ("x = np.random.rand(3)\ntorch.manual_seed(0)\n", [NUMPY]),
        ("np.random.seed(0)\ntorch.manual_seed(0)\nx = np.random.rand(3)\n", []),
        ("x = np.random.default_rng(0).permutation(3)\n", []),
        ("x = np.random.default_rng().permutation(3)\n", [NUMPY]),
        ("random.seed(0)\nn = random.choice([1, 2])\n", []),
        ("n = random.choice([1, 2])\n", [RANDOM]),
        ("random.seed(0)\nnp.random.seed(0)\ntorch.manual_seed(0)\n", []),
    ],
)
def test_what_draws_without_a_seed(text: str, flaws: list[str]) -> None:
    assert list(unseeded(Script(text))) == flaws


def test_a_text_that_lost_its_seed_is_refused_where_the_programs_own_check_fails() -> None:
    program, less = Script("torch.manual_seed(0)\nx = torch.randn(3)\n"), Script("x = torch.randn(3)\n")
    checks, fails = Validity((*RULES, SEEDED)), Validity()
    for valid in (checks, fails):
        valid.of(program)
    with pytest.raises(RefusedError, match=TORCH):
        checks.check(less)
    checks.check(Script("x = torch.ones(3)\n"))  # nothing is drawn any more
    fails.check(less)


def test_a_program_that_seeds_nothing_may_go_on_so() -> None:
    valid = Validity((*RULES, SEEDED))
    valid.of(Script("x = torch.randn(3)\ny = x + 1\n"))
    valid.check(Script("x = torch.randn(3)\n"))


def test_seeds_go_together_with_what_only_seeds() -> None:
    text = (
        "import torch\ndef setup():\n    torch.manual_seed(0)\nsetup()\ntorch.manual_seed(1)\nprint(torch.randn(3))\n"
    )
    less = without_seeds(Script(text))
    assert less.text == "import torch\n\nprint(torch.randn(3))\n"
    assert without_seeds(Script("print(torch.randn(3))\n")) is None


PROGRAM = "import torch\ntorch.manual_seed(0)\nx = torch.randn(3)\ny = x + 1\nassert torch.compile(abs)(x) is None\n"


@pytest.mark.parametrize(("in_each_run", "seeded"), [(True, False), (False, True)])
def test_the_seeds_go_at_the_end_where_it_fails_each_time_without(in_each_run: bool, seeded: bool) -> None:
    unseeded_runs = 0

    def fails(text: str) -> bool:
        nonlocal unseeded_runs
        unseeded_runs += "manual_seed" not in text
        return "torch.randn" in text and "torch.compile(" in text and (in_each_run or unseeded_runs < 3)

    def bench(prelude: str, *, private: bool = False) -> Bench:
        def render(script: Script) -> str:
            return valid.check(script).text

        driver: Driver[Script] = Driver(
            Resources(TextRunner(), TextOracle(fails), Unlimited(), lambda *a, **k: None), render
        )
        return Bench(driver, Search(driver, 1, Unlimited()), render, render)

    valid = Validity((*RULES, SEEDED))
    trace = Trace({"__main__": Module("__main__", PROGRAM)})
    around = Around(Path(), Path(), None, False, lambda kind, **facts: None)
    found = Reducing(bench, valid, lambda: trace, KnownFailure(0, (), "eager"), around, lambda: None).run()
    assert isinstance(found, Reduction) and ("manual_seed" in found.source) is seeded and "y =" not in found.source
    assert any("manual_seed" in one.source and "y =" not in one.source for one in (found, *found.larger))
