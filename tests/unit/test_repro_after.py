"""Driving PyTorch's minifier, without torch: how it is asked, what its scripts are, and how its failures are recognised."""

from __future__ import annotations

from pathlib import Path

import pytest
from minifier_outcomes import OK, OTHER, SAME, failed, trace

from triage.judge.signature import FailureSignature
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.minifier.checkpoints import (
    collect,
    is_launcher,
    operations_in,
    queries_made,
    without_settings,
)
from triage.reduce.minifier.choice import Minifier, check_string, choose_minifier, minify_arguments
from triage.reduce.minifier.ending import broken_script, dump_sentence, launcher_sentence, refuses_options


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
