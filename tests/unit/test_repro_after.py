"""Driving PyTorch's minifier, without torch: how it is asked, what its scripts are, and how its failures are recognised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from triage.judge.comparison import CheckOracle
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import FailureSignature, signature_of
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.interface import NoReduction, Problem, Reduction
from triage.reduce.minifier.checkpoints import (
    Checkpoint,
    collect,
    is_launcher,
    operations_in,
    queries_made,
    without_settings,
)
from triage.reduce.minifier.choice import Minifier, check_string, choose_minifier, lost_input, minify_arguments
from triage.reduce.minifier.ending import broken_script, dump_sentence, launcher_sentence, refuses_options
from triage.reduce.minifier.engine import Attempt, ReproAfterEngine
from triage.reduce.minifier.launcher import Dumped, Minified
from triage.trial.interface import Resources

TORCH = "/venv/lib/python3.11/site-packages/torch/"


def signature(
    kind: OutcomeKind = OutcomeKind.EXCEPTION, frame: str = "", wrapper: str | None = None, message: str = ""
) -> FailureSignature:
    return FailureSignature(kind, "RuntimeError", "text", (frame,) if frame else (), message=message, wrapper=wrapper)


COMPILES = signature(wrapper="BackendCompilerFailed")
RUNS = signature(frame="torch/_inductor/output_code.py:__call__", wrapper="RuntimeError")


@pytest.mark.parametrize(
    ("stage", "failure", "expected"),
    [
        (Stage.DYNAMO, COMPILES, Minifier("dynamo", 2)),
        (Stage.AOT_AUTOGRAD, COMPILES, Minifier("dynamo", 2)),
        (Stage.DECOMP_PARTITION, COMPILES, Minifier("dynamo", 2)),
        (Stage.INDUCTOR, COMPILES, Minifier("aot", 2)),
        (Stage.INDUCTOR, signature(wrapper="InductorError"), Minifier("aot", 2)),
        (Stage.INDUCTOR, signature(frame="torch/_inductor/lowering.py:relu", wrapper="TypeError"), Minifier("aot", 2)),
        (Stage.INDUCTOR, RUNS, Minifier("aot", 3)),
        (Stage.AOT_AUTOGRAD, RUNS, Minifier("dynamo", 3)),
        (Stage.INDUCTOR, signature(OutcomeKind.CRASH), Minifier("aot", 3, isolate=True)),
        (Stage.AOT_AUTOGRAD, signature(OutcomeKind.CRASH), Minifier("dynamo", 3)),
        (Stage.INDUCTOR, signature(OutcomeKind.WRONG_RESULT), Minifier("aot", 4)),
        (Stage.DECOMP_PARTITION, signature(OutcomeKind.WRONG_RESULT), Minifier("dynamo", 4)),
    ],
)
def test_the_minifier_is_asked_after_the_stage_and_at_the_level_of_the_failure(
    stage: Stage, failure: FailureSignature, expected: Minifier
) -> None:
    assert choose_minifier(stage, failure) == expected


def test_a_check_by_the_program_itself_is_asked_for_as_a_wrong_result() -> None:
    assert choose_minifier(Stage.INDUCTOR, RUNS, compares=True) == Minifier("aot", 4)


@pytest.mark.parametrize("stage", [Stage.BACKEND, Stage.SCRIPT, Stage.NONE])
def test_where_it_has_nothing_to_offer_that_is_said(stage: Stage) -> None:
    assert str(choose_minifier(stage, COMPILES)).startswith("PyTorch's minifier ")


def test_nor_is_it_asked_for_what_hangs() -> None:
    assert "no time limit" in str(choose_minifier(Stage.INDUCTOR, signature(OutcomeKind.HANG)))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("C++ compile error: ‘compile’ was not declared in this scope", "was not declared in this scope"),
        ("expected size 4==8, stride 8==1 at dim=1", "expected size"),
        ("unsupported operand type(s) for *: 'NoneType' and 'int'", "unsupported operand type(s) for"),
        ("Cannot view a tensor with shape torch.Size([4, 8]) and strides (1, 4)", "Cannot view a tensor with shape"),
        ("buf12 is not in buffers of the graph", "is not in buffers of the graph"),
        ("", "RuntimeError"),
        ("s77", "RuntimeError"),
        ("no 3", "RuntimeError"),
    ],
)
def test_the_check_string_is_a_literal_piece_of_the_message_without_numbers(message: str, expected: str) -> None:
    found = check_string(signature(message=message))
    assert found == expected
    assert found in message or found == "RuntimeError"
    assert found in repr(RuntimeError(message))
    assert not any(letter.isdigit() for letter in found)


def test_the_launchers_arguments() -> None:
    assert minify_arguments(Minifier("dynamo", 2), "text") == ("minify",)
    assert minify_arguments(Minifier("aot", 2), "text") == ("minify", "--no-isolate", "--check-str", "text")
    assert minify_arguments(Minifier("aot", 3, isolate=True), "text")[1] == "--isolate"
    assert "--check-str" not in minify_arguments(Minifier("aot", 4), "text")


SCRIPT = """\
import os
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/triage-abc/cache'
os.environ['TORCHINDUCTOR_FREEZING'] = '1'
os.environ.pop('TORCHDYNAMO_REPRO_AFTER', None)
import torch

class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 1

    def forward(self, arg0_1):
{body}        return (arg0_1,)

def load_args(reader):
    buf0 = reader.storage(None, 128)
mod = Repro()
if __name__ == '__main__':
    run_repro(mod, load_args, accuracy=False)
"""


def script(operations: int) -> str:
    return SCRIPT.format(
        body="".join(f"        v{n} = torch.ops.aten.sin.default(arg0_1)\n" for n in range(operations))
    )


def test_operations_are_counted_also_in_a_script_that_does_not_parse() -> None:
    assert operations_in(script(3)) == 3
    assert operations_in(script(2).replace("import torch\n", "import torch = 1\n")) == 2
    assert operations_in(script(0)) == 0
    assert operations_in("no script") == 0
    assert (
        operations_in(script(1).replace("arg0_1)\n", "arg0_1);  arg0_1 = None\n        z[0] = v0;  v0 = None\n")) == 2
    )


def test_checkpoints_are_collected_once_and_smallest_first(tmp_path: Path) -> None:
    deep = tmp_path / "torch_compile_debug" / "run_1" / "minifier" / "checkpoints"
    flat = tmp_path / "checkpoints"
    queries = tmp_path / "isolate"
    for folder in (deep, flat, queries):
        folder.mkdir(parents=True)
    (deep / "12.py").write_text(script(10))
    (deep / "4.py").write_text(script(2))
    (flat / "minified_9_nodes.py").write_text(script(7))
    (tmp_path / "repro.py").write_text(script(2))
    (queries / "a1b2c.py").write_text(script(1))
    (tmp_path / "minifier_launcher.py").write_text(script(20))

    assert [item.operations for item in collect([tmp_path])] == [2, 7, 10]


def test_settings_of_the_probe_are_taken_out_and_the_users_stay() -> None:
    cleaned = without_settings(script(1), {"TORCHINDUCTOR_CACHE_DIR"})
    assert "triage-abc" not in cleaned
    assert "os.environ['TORCHINDUCTOR_FREEZING'] = '1'" in cleaned
    assert "os.environ.pop(" in cleaned


def test_a_launcher_that_is_only_a_sentence_is_none() -> None:
    assert is_launcher(script(1))
    assert not is_launcher("Repro is not generated due to existence of BackwardState in graph input")


def test_the_minifiers_own_count_of_queries_is_read() -> None:
    assert queries_made("Strategy: Truncate suffix\nMade 14 queries\n") == 14
    assert queries_made("Killed") == 0


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        (
            "AttributeError",
            "'Repro' object has no attribute '_tensor_constant0'",
            "lost a tensor constant of the graph",
        ),
        ("AttributeError", "'Repro' object has no attribute 'true_graph_0'", "lost a part of the graph"),
        (
            "AttributeError",
            "'_OpNamespace' 'mylib' object has no attribute 'myop'",
            "does not carry the registration of the custom operator mylib::myop",
        ),
        ("AttributeError", "'_OpNamespace' object has no attribute 'myop'", "custom operator myop"),
        (
            "SyntaxError",
            "invalid syntax (checkpoint.py, line 40)",
            "is not a valid script (SyntaxError: invalid syntax",
        ),
        ("IndentationError", "unexpected indent", "is not a valid script"),
        ("NameError", "name 's77' is not defined", "is not a valid script (NameError: name 's77' is not defined)"),
        ("ModuleNotFoundError", "No module named 'mypkg'", "is not a valid script"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'x'", "needs a file"),
    ],
)
def test_a_broken_script_is_recognised(kind: str, message: str, expected: str) -> None:
    assert expected in (broken_script(kind, message) or "")


def test_a_failure_of_the_compiler_is_no_broken_script() -> None:
    assert broken_script("TypeError", "unsupported operand") is None
    assert broken_script("AttributeError", "'NoneType' object has no attribute 'meta'") is None


def trace(error: str) -> str:
    return f'Traceback (most recent call last):\n  File "launcher.py", line 9, in <module>\n    main()\n{error}\n'


@pytest.mark.parametrize(
    ("output", "timed_out", "expected"),
    [
        (trace("RuntimeError: Input graph did not fail the tester"), False, "it did not fail there."),
        ("E1121 Input graph does not fail accuracy testing\n", False, "they agreed."),
        (trace("AttributeError: '_OpNamespace' 'lib' object has no attribute 'op'"), False, "custom operator lib::op"),
        (trace("AttributeError: 'Repro' object has no attribute '_tensor_constant0'"), False, "lost a tensor constant"),
        ("", True, "when its time of 60 s was over"),
        ("Killed\n", False, "ended without writing anything"),
        (
            "W Constant _tensor_constant0 was not serialized, generated random data instead.\n"
            + trace("RuntimeError: ZeroDivisionError"),
            False,
            "drifted to another error (RuntimeError: ZeroDivisionError). It had put other numbers in the place of the "
            "tensor constant _tensor_constant0.",
        ),
        ("  File 'l.py', line 3\n" + trace("SyntaxError: invalid syntax"), False, "is not a valid script"),
    ],
)
def test_why_a_launcher_left_nothing_is_said(output: str, timed_out: bool, expected: str) -> None:
    assert expected in launcher_sentence(output, timed_out=timed_out, seconds=60.0)


def failed(message: str, frame: str = "_inductor/ir.py", kind: str = "RuntimeError") -> Outcome:
    error = RaisedException(kind, message, (Frame(TORCH + frame, 1, "realize"),))
    return Outcome(OutcomeKind.EXCEPTION, seconds=1.0, exit_code=1, exception=error)


OK = Outcome(OutcomeKind.OK)
SAME = failed("the planted failure")
OTHER = failed("quite another failure")
CONSTANT = failed("'Repro' object has no attribute '_tensor_constant0'", "nn/modules/module.py", "AttributeError")


@pytest.mark.parametrize(
    ("outcome", "same", "expected"),
    [
        (OK, False, "the program passed"),
        (SAME, True, "failed as before"),
        (OTHER, False, "failed in another way (RuntimeError: quite another failure)"),
        (failed("Cannot convert module to string: Custom()"), False, "could not write the graph as a script"),
        (Outcome(OutcomeKind.HANG, seconds=300.0), False, "did not end in 300 s"),
    ],
)
def test_why_there_is_no_launcher_is_said(outcome: Outcome, same: bool, expected: str) -> None:
    assert expected in dump_sentence(outcome, same, "TORCHDYNAMO_REPRO_AFTER=aot, level 2")


def test_a_launcher_that_does_not_know_an_option_is_recognised() -> None:
    assert refuses_options("launcher.py: error: unrecognized arguments: --check-str x", 2)
    assert not refuses_options("Input graph did not fail the tester", 1)


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


def attempt(bench: ScriptedBench, runner: ScriptedRunner | None = None, budget: Time | None = None) -> Attempt:
    problem = Problem(signature_of(SAME), Stage.INDUCTOR, "inductor", None, (), Path("unused"))
    oracle = SignatureOracle(problem.signature)
    return Attempt(
        problem, Minifier("aot", 2), bench,
        Resources(runner or ScriptedRunner(), oracle, budget or Time(), lambda kind, **facts: None),
    )  # fmt: skip


def outcome_of(made: Attempt) -> Reduction | NoReduction:
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
    found = outcome_of(replace(made, given=replace(made.given, oracle=CheckOracle(made.problem.signature))))
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
        return engine.reduce(made.problem, Resources(runner, made.given.oracle, budget, lambda kind, **facts: None))

    def test_a_spent_budget_ends_in_what_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = self.engine(monkeypatch, ScriptedBench({1: SAME}), ScriptedRunner(), Time(1.0))
        assert isinstance(found, NoReduction) and "budget" in found.reason

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
            problem, Resources(ScriptedRunner(), opened.given.oracle, Time(), lambda kind, **facts: None)
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
