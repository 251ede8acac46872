"""A graph's script whose custom operator's registration is made small; the rest of it stays as it is printed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from printer_cases import case, meta, node, tensor
from text_helpers import TextOracle, TextRunner, Unlimited

from triage.judge.judgement import CandidateResult
from triage.judge.signature import FailureSignature, signature_of
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.reduce.printing.printer import print_case
from triage.reduce.text.code.script import Script
from triage.reduce.text.polish import Polished
from triage.reduce.text.validity.oddities import doubled_names
from triage.reduce.text.validity.operators import broken_operators
from triage.trial.interface import Resources

REGISTRATION = (
    "import math",
    "from torch.library import custom_op",
    "LIMIT = 10",
    "def helper(x, n):\n    y = x * n\n    for _ in range(3):\n        y = y + math.pi\n    return y",
    '@custom_op("ns::one", mutates_args=())\ndef one(x: torch.Tensor) -> torch.Tensor:\n'
    "    if LIMIT > 3:\n        print('large')\n    return helper(x, LIMIT).clone()",
    "@one.register_fake\ndef _(x):\n    return torch.empty_like(x)",
)
PROBLEM = Problem(FailureSignature("E", "m", "m"), Stage.AOT_AUTOGRAD, "aot_eager", "forward", (), Path())


def graph(*statements: str) -> GraphCase:
    nodes = [node("s", "torch.ops.ns.one.default" if statements else "torch.sin", "%x", out=meta(3))]
    return case([tensor("x", 3)], nodes, "%s", preamble=statements, backend="aot_eager")


@dataclass(frozen=True)
class Fixed:
    """An engine that has found this."""

    found: Reduction | NoReduction
    name: str = "native"
    subject: str = "the captured graph"

    def reduce(self, *_: object) -> Reduction | NoReduction:
        return self.found


def polished(found: Reduction | NoReduction, runner: TextRunner, *needed: str) -> Reduction | NoReduction:
    oracle = TextOracle(lambda text: all(part in text for part in needed))
    return Polished(Fixed(found)).reduce(PROBLEM, Resources(runner, oracle, Unlimited(), lambda kind, **facts: None))


def reduction(of: GraphCase) -> Reduction:
    source = print_case(of, header="What fails\nWhere")
    return Reduction(source, "native", "graph", 1, 5, 1.0, minimal=True, complete=True, graph=of)


def test_only_what_the_failure_needs_of_a_registration_stays() -> None:
    found = reduction(graph(*REGISTRATION))
    runner = TextRunner()
    words = ('"ns::one"', "register_fake", "empty_like(x)", "x: torch.Tensor", "mutates_args=()", "return")
    small = polished(found, runner, *words)
    assert isinstance(small, Reduction) and small.graph is not None
    assert "helper" not in small.source and "LIMIT" not in small.source and "math" not in small.source
    assert small.source == print_case(small.graph, header="What fails\nWhere")
    assert small.source.split("torch.manual_seed")[1].replace("fn", "f") == found.source.split("torch.manual_seed")[1]
    assert "    return torch.ops.ns.one(x)\n" in small.source
    # What was begun ahead of need, and then not needed, is no question.
    assert found.queries < small.queries <= found.queries + len(runner.seen)


def test_a_graph_without_registrations_costs_nothing() -> None:
    runner = TextRunner()
    for found in (reduction(graph()), reduction(graph("import math")), NoReduction("nothing fails")):
        assert polished(found, runner) == found
    cut_short = replace(reduction(graph(*REGISTRATION)), complete=False)
    assert polished(cut_short, runner) == replace(cut_short, minimal=False)
    assert runner.seen == []


def test_what_does_not_fail_any_more_as_it_is_stays_as_it_was_found() -> None:
    found = reduction(graph(*REGISTRATION))
    same = polished(found, TextRunner(), "nowhere to be found")
    assert isinstance(same, Reduction) and same.source == found.source


def test_a_kernel_goes_on_to_return_something_of_its_own() -> None:
    small = polished(reduction(graph(*REGISTRATION)), TextRunner(), '"ns::one"', "register_fake", "torch.Tensor")
    assert isinstance(small, Reduction)
    assert list(broken_operators(Script(small.source))) == [] and list(doubled_names(Script(small.source))) == []


class Asserting(TextRunner):
    """Compiled code that asserts its sizes: the fake is short of a column, and of rows once its first size is a number."""

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.seen.append(source)
        dim = 1 if "x.shape[0]" in source else 0
        raised = RaisedException("AssertionError", f"expected size 2==1, stride 1==1 at dim={dim}")
        outcome = Outcome(OutcomeKind.EXCEPTION, exception=raised, detail=source)
        return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)


def test_a_fake_is_not_made_wrong_in_another_dimension() -> None:
    fake = "@one.register_fake\ndef _(x):\n    return x.new_empty((x.shape[0], x.shape[1] - 1))"
    found = reduction(graph(*REGISTRATION[:-1], fake))
    small = polished(found, Asserting(), '"ns::one"', "new_empty")
    assert isinstance(small, Reduction)
    assert "x.shape[0]" in small.source and "helper" not in small.source


class Compiling(TextRunner):
    """A backend that gives a function compiles what is harmless."""

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        result = super().run(source)
        passes = "_triage_harmless" in source and "return gm.forward" in source
        return replace(result, outcome=Outcome(OutcomeKind.OK)) if passes else result


def test_the_backend_of_the_programs_own_loses_statements_and_still_is_one() -> None:
    backend = (
        "RULES = []",
        "def rule(fn):\n    RULES.append(fn)\n    return fn",
        "@rule\ndef first(gm):\n    print(gm)\n    raise ValueError",
        "def accel(gm, inputs):\n    for each in RULES:\n        each(gm)\n    gm.recompile()\n    return gm.forward",
    )
    below = replace(graph(), preamble=backend, prepared=True, backend_code="accel")
    small = polished(reduction(below), Compiling(), "RULES.append(fn)", "raise ValueError", "each(gm)")
    assert isinstance(small, Reduction) and small.graph is not None
    assert small.source == print_case(small.graph, header="What fails\nWhere")
    assert 'os.environ.get("TORCH_COMPILE_BACKEND", accel)' in small.source
    assert "print" not in small.source and "recompile" not in small.source and "return gm.forward" in small.source


def test_what_only_something_needed_that_has_gone_goes_too() -> None:
    backend = (
        "class Engine:\n    def __init__(self):\n        self.count = 0\n    def __call__(self, gm, inputs):\n"
        "        self.count += 1\n        raise ValueError\n        return gm.forward",
    )
    below = replace(graph(), preamble=backend, prepared=True, backend_code="Engine()")
    small = polished(reduction(below), Counting(), "raise ValueError")
    assert isinstance(small, Reduction) and "count" not in small.source and "__init__" not in small.source


class Counting(Compiling):
    """What is counted from must be there."""

    def run(self, source: str, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        result = super().run(source)
        counts = "count += 1" in source and "count = 0" not in source
        return replace(result, outcome=Outcome(OutcomeKind.OK)) if counts else result
