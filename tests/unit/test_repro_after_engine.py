"""The engine that drives PyTorch's minifier, without torch: which of its scripts is taken, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from minifier_outcomes import OK, OTHER, SAME, failed, trace
from printer_cases import node

from triage.judge.comparison import CheckOracle
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.reduce.minifier.checkpoints import Checkpoint
from triage.reduce.minifier.choice import Minifier, lost_input, lost_operator
from triage.reduce.minifier.engine import MinifierRun, ReproAfterEngine
from triage.reduce.minifier.launcher import Dumped, Minified
from triage.trial.interface import Resources

CONSTANT = failed("'Repro' object has no attribute '_tensor_constant0'", "nn/modules/module.py", "AttributeError")


# The engine, on a bench that is scripted.

META = TensorMeta((4, 8), (8, 1), "float32")


def case_of(operations: int, config: Sequence[str] = ()) -> GraphCase:
    nodes, value = [], "x"
    for number in range(operations):
        nodes.append(GraphNode(f"v{number}", "call_function", "torch.sin", [{"ref": value}], out=[META]))
        value = f"v{number}"
    case = GraphCase("dynamo", (GraphInput("x", meta=META),), tuple(nodes), ({"ref": value},))
    return replace(case, context=replace(case.context, config=tuple(config)))


def facts(outcome: Outcome) -> CandidateResult:
    return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)


class ScriptedBench:
    """Checkpoints by their number of operations: `runs` says how each ends by itself."""

    def __init__(self, runs: dict[int, Outcome], config: Sequence[str] = (), **facts: Any) -> None:
        self.runs, self.config, self.facts = runs, config, facts
        self.tried: list[int] = []

    def dump(self, minifier: Minifier, rung: str, timeout: float) -> Dumped:
        return Dumped(SAME, signature_of(SAME), self.facts.get("launcher", "launcher"))

    def minify(self, launcher: str, arguments: tuple[str, ...], timeout: float) -> Minified:
        found = tuple(Checkpoint(Path(f"{n}.py"), f"script {n}", n) for n in sorted(self.runs))
        return Minified(1, self.facts.get("timed_out", False), 5.0, self.facts.get("output", "Made 7 queries"), found)

    def run(self, checkpoint: Checkpoint, timeout: float) -> CandidateResult:
        self.tried.append(checkpoint.operations)
        return facts(self.runs[checkpoint.operations])

    def describe(self, checkpoint: Checkpoint, options: dict[str, Any], timeout: float) -> GraphCase | str:
        return case_of(checkpoint.operations, self.config)


class ScriptedRunner:
    """`ends` answers for the printed text."""

    jobs = 1

    def __init__(self, ends: Any = lambda source: SAME) -> None:
        self.ends, self.sources = ends, []

    def run(self, source: str, *, rung: str | None = None, timeout: float | None = None) -> CandidateResult:
        self.sources.append(source)
        ended = self.ends(source)
        if isinstance(ended, BaseException):
            raise ended
        return facts(ended)

    def run_many(
        self, sources: Sequence[str], *, rung: str | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, CandidateResult]]:
        raise NotImplementedError

    def close(self) -> None: ...


class Time:
    def __init__(self, left: float = 1000.0) -> None:
        self.seconds = left

    def left(self) -> float:
        return self.seconds

    def spent(self) -> bool:
        return self.seconds <= 0


def attempt(bench: ScriptedBench, runner: ScriptedRunner | None = None, budget: Time | None = None) -> MinifierRun:
    problem = Problem(signature_of(SAME), Stage.INDUCTOR, "inductor", None, (), Path("unused"))
    oracle = SignatureOracle(problem.signature)
    return MinifierRun(
        problem, Minifier("aot", 2), bench,
        Resources(runner or ScriptedRunner(), oracle, budget or Time(), lambda kind, **facts: None),
    )  # fmt: skip


def outcome_of(made: MinifierRun) -> Reduction | NoReduction:
    made.go(300.0, 600.0)
    return made.result()


def test_the_smallest_script_that_holds_is_printed() -> None:
    bench = ScriptedBench({2: SAME, 5: SAME, 9: SAME})
    found = outcome_of(attempt(bench))
    assert isinstance(found, Reduction)
    assert (found.ops, bench.tried, found.queries) == (2, [2], 9)
    assert "torch.compile(f" in found.source and found.source.startswith("# RuntimeError: the planted failure\n")
    assert not found.minimal and found.complete


def test_after_a_drift_an_earlier_checkpoint_is_used_and_the_drift_is_a_sibling() -> None:
    bench = ScriptedBench({1: OTHER, 2: CONSTANT, 3: OK, 4: SAME, 5: SAME, 6: SAME})
    found = outcome_of(attempt(bench))
    assert isinstance(found, Reduction)
    assert found.ops == 4
    said = " ".join(found.notes)
    assert "The script of 1 operation that PyTorch's minifier left drifted to another error" in said
    assert "does not fail" in said
    assert [met.signature.message for met in found.siblings] == ["quite another failure"]


def test_a_lost_constant_is_never_a_result_nor_a_sibling() -> None:
    found = outcome_of(attempt(ScriptedBench({1: CONSTANT, 2: CONSTANT})))
    assert isinstance(found, NoReduction)
    assert "lost a tensor constant of the graph" in found.reason
    assert found.siblings == ()


def test_a_print_that_fails_otherwise_is_tried_in_exact_form_then_refused() -> None:
    exact = ScriptedRunner(lambda source: SAME if "torch.sin(" in source and "x.sin()" not in source else OTHER)
    assert isinstance(outcome_of(attempt(ScriptedBench({1: SAME}), exact)), Reduction)

    never = ScriptedRunner(lambda source: OK)
    found = outcome_of(attempt(ScriptedBench({1: SAME}), never))
    assert isinstance(found, NoReduction)
    assert "only as PyTorch wrote it" in found.reason
    assert len(never.sources) == 2


def test_settings_that_are_not_needed_are_left_out() -> None:
    config = ("torch._inductor.config.a = 1", "torch._inductor.config.b = 2")
    needs_b = ScriptedRunner(lambda source: SAME if "config.b = 2" in source else OK)
    found = outcome_of(attempt(ScriptedBench({1: SAME}, config), needs_b))
    assert isinstance(found, Reduction)
    assert "config.b = 2" in found.source and "config.a" not in found.source
    assert found.graph.context.config == config[1:]


def test_a_wrong_result_is_judged_by_a_print_that_compares() -> None:
    bad = failed("Bad accuracy detected", "_dynamo/repro/after_aot.py", "torch._dynamo.debug_utils.AccuracyError")
    check = RaisedException("AssertionError", "eager: 1", (Frame("repro.py", 20, "<module>"),))
    differs = Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=check)
    comparing = ScriptedRunner(lambda source: differs if "same(" in source else OK)
    made = attempt(ScriptedBench({1: bad}), comparing)
    found = outcome_of(replace(made, resources=replace(made.resources, oracle=CheckOracle(made.problem.signature))))
    assert isinstance(found, Reduction)
    assert "same(" in found.source and len(comparing.sources) == 1


def test_a_launcher_that_ran_out_of_time_gives_an_incomplete_result() -> None:
    found = outcome_of(attempt(ScriptedBench({3: SAME}, timed_out=True)))
    assert isinstance(found, Reduction)
    assert not found.complete
    assert any("was ended after 5 s" in note for note in found.notes)


def test_nothing_generated_is_said() -> None:
    found = outcome_of(attempt(ScriptedBench({}, launcher=None)))
    assert isinstance(found, NoReduction) and "no launcher was written" in found.reason
    found = outcome_of(attempt(ScriptedBench({}, output=trace("RuntimeError: Input graph did not fail the tester"))))
    assert isinstance(found, NoReduction) and "it did not fail there" in found.reason


class TestReduce:
    """The engine's own part: budget and interrupt."""

    def engine(
        self, monkeypatch: pytest.MonkeyPatch, bench: ScriptedBench, runner: ScriptedRunner, budget: Time
    ) -> Any:
        class Opened:
            def __init__(self, *arguments: object) -> None: ...

            def __enter__(self) -> ScriptedBench:
                return bench

            def __exit__(self, *arguments: object) -> None: ...

        monkeypatch.setattr("triage.reduce.minifier.engine.Workbench", Opened)
        made = attempt(bench)
        engine = ReproAfterEngine(None, Path("unused"))
        return engine.reduce(made.problem, Resources(runner, made.resources.oracle, budget, lambda kind, **facts: None))

    def test_a_spent_budget_ends_in_what_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = self.engine(monkeypatch, ScriptedBench({1: SAME}), ScriptedRunner(), Time(1.0))
        assert isinstance(found, NoReduction) and "budget" in found.reason

    def test_it_is_not_asked_where_its_launcher_would_lose_an_operator(self) -> None:
        """One of a library is loaded by the launcher."""
        called = node("y", "torch.ops.shop.rows.default", "%x")
        defined = (
            "@torch.library.custom_op('shop::rows', mutates_args=())\ndef rows(x: torch.Tensor) -> torch.Tensor: ..."
        )
        own = replace(case_of(1), nodes=(called,), preamble=("import torch", defined))
        loaded = replace(own, preamble=("torch.ops.load_library('librows.so')",))
        assert "the custom operator shop::rows, which the program registers" in lost_operator([own])
        assert not lost_operator([own, case_of(1)]) and not lost_operator([loaded]) and not lost_operator([])

    def test_it_is_not_asked_where_its_launcher_would_lose_an_input(self) -> None:
        points = GraphInput("points", kind="opaque", value="a tensor of the subclass Reading")
        lost = replace(case_of(1), inputs=(points,))
        aten = replace(case_of(1), level="aten")
        assert "points is a tensor of the subclass Reading." in lost_input(Minifier("dynamo", 2), (lost, aten))
        assert not lost_input(Minifier("aot", 2), (lost, aten))  # below subclasses
        assert not lost_input(Minifier("dynamo", 2), (lost, case_of(1)))
        assert not lost_input(Minifier("dynamo", 2), ())
        opened = attempt(ScriptedBench({1: SAME}))
        problem = replace(opened.problem, stage=Stage.AOT_AUTOGRAD, cases=(lost,))
        engine = ReproAfterEngine(None, Path("unused"))
        found = engine.reduce(
            problem, Resources(ScriptedRunner(), opened.resources.oracle, Time(), lambda kind, **facts: None)
        )
        assert isinstance(found, NoReduction) and "plain tensors" in found.reason

    def test_an_interrupt_keeps_the_best_so_far(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = ("torch._inductor.config.a = 1",)
        runner = ScriptedRunner(lambda source: SAME if "config.a" in source else KeyboardInterrupt())
        found = self.engine(monkeypatch, ScriptedBench({1: SAME}, config), runner, Time())
        assert isinstance(found, Reduction) and not found.complete

    def test_an_interrupt_before_anything_holds_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(KeyboardInterrupt):
            self.engine(
                monkeypatch, ScriptedBench({1: SAME}), ScriptedRunner(lambda source: KeyboardInterrupt()), Time()
            )
