"""The table of known causes: what GPU, Triton, disk and old releases say is tested by the text that torch raises."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from triage.culprit.known_causes import TABLE, Row
from triage.culprit.match_known_cause import known_row, lies_in_environment, told_cause
from triage.model.outcome import CompileCall, Frame, Outcome, RaisedException
from triage.model.report import KnownCause
from triage.model.stage import OutcomeKind, Stage

FULLGRAPH = (CompileCall(None, fullgraph=True),)


def failed(kind: str, message: str, **more: object) -> Outcome:
    return Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message, **more))


def known_cause(
    outcome: Outcome | None, stage: Stage, calls: tuple[CompileCall, ...] = (), printed: str = ""
) -> KnownCause | None:
    row = known_row(outcome, stage, calls, printed)
    return told_cause(row, outcome) if row is not None and outcome is not None else None


def cause_of(kind: str, message: str, stage: Stage, calls: tuple[CompileCall, ...] = FULLGRAPH) -> str | None:
    found = known_cause(failed(kind, message), stage, calls)
    return found.id if found is not None else None


# What no CPU raises: (cause, type, file of torch that says it, the text there, the rest of the message, stage).
IN_TORCH = [
    ("triton_missing", "torch._inductor.exc.TritonMissing", "_inductor/exc.py", "Cannot find a working triton installation",
     ". Either the package is not installed", Stage.INDUCTOR),
    ("gpu_too_old", "torch._inductor.exc.GPUTooOldForTriton", "_inductor/exc.py",
     "which is too old to be supported by the triton GPU compiler", ", which is used as the backend.", Stage.INDUCTOR),
    ("cuda_after_fork", "RuntimeError", "cuda/__init__.py", "Cannot re-initialize CUDA in forked subprocess",
     ". To use CUDA", Stage.SCRIPT),
    ("cudagraph_output_overwritten", "RuntimeError", "_inductor/cudagraph_trees.py",
     "accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run", ". Stack trace: x",
     Stage.INDUCTOR),
    ("python_not_supported", "RuntimeError", "__init__.py", "torch.compile is not supported on Python", " 3.15+",
     Stage.DYNAMO),
    ("no_fake_kernel", "RuntimeError", "_library/custom_ops.py", "There was no fake impl registered for", " <op>",
     Stage.DYNAMO),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "kind", "file", "says", "rest", "stage"), IN_TORCH, ids=[row[0] for row in IN_TORCH])
def test_what_torch_itself_says(cause: str, kind: str, file: str, says: str, rest: str, stage: Stage) -> None:
    found = importlib.util.find_spec("torch")
    assert found.origin is not None
    assert says in (Path(found.origin).parent / file).read_text(encoding="utf-8")
    assert cause_of(kind, says + rest, stage) == cause


@pytest.mark.parametrize(
    ("cause", "kind", "message", "stage"),
    [
        ("no_cxx_compiler", "FileNotFoundError", "[Errno 2] No such file or directory: '/opt/g++'", Stage.INDUCTOR),
        ("no_cxx_compiler", "InvalidCxxCompiler", "Compiler: cl is not found.", Stage.INDUCTOR),
        ("no_python_headers", "CppCompileError", "x.cpp:4:10: fatal error: Python.h: No such file or directory", Stage.INDUCTOR),
        ("compiler_killed", "CppCompileError", "g++: fatal error: Killed signal terminated program cc1plus", Stage.INDUCTOR),
        ("python_not_supported", "RuntimeError", "Dynamo is not supported on Python 3.13+", Stage.DYNAMO),
        ("cache_not_writable", "PermissionError", "[Errno 13] Permission denied: '/tmp/torchinductor_a/x'", Stage.INDUCTOR),
        ("no_c_compiler", "RuntimeError", "Failed to find C compiler. Please specify", Stage.INDUCTOR),
        ("no_libcuda", "AssertionError", "libcuda.so cannot found!\nPossible files are located at", Stage.INDUCTOR),
        ("no_libcuda", "CalledProcessError", "Command '['cc']' returned status 1.\ncannot find -lcuda", Stage.INDUCTOR),
        ("no_python_headers", "CalledProcessError", "Command '['cc']' returned status 1.\nfatal error: Python.h: No such file or "
         "directory", Stage.INDUCTOR),
        ("ptxas_too_old", "triton.runtime.errors.PTXASError", "PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
         "ptxas-blackwell fatal   : Value 'sm_110a' is not defined for option 'gpu-name'\n", Stage.INDUCTOR),
        ("no_kernel_image", "torch.AcceleratorError", "CUDA error: no kernel image is available for execution on the device\n"
         "CUDA kernel errors might be", Stage.SCRIPT),
        ("disk_full", "OSError", "[Errno 28] No space left on device", Stage.INDUCTOR),
        ("warnings_are_errors", "DeprecationWarning", "`torch.jit.script_method` is deprecated.", Stage.DECOMP_PARTITION),
        ("recompile_limit", "FailOnRecompileLimitHit", "cache_size_limit reached with one_graph=True", Stage.DYNAMO),
        ("no_fake_kernel", "Unsupported", "unsupported operator: shop.scale.default (see https://a.b/c)", Stage.DYNAMO),
        ("graph_break_fullgraph", "Unsupported", "Tensor.item", Stage.DYNAMO),
        ("graph_break_fullgraph", "Unsupported", "Tensor.item\n\nfrom user code:\n   File \"s.py\", line 5, in f", Stage.DYNAMO),
        ("graph_break_fullgraph", "Unsupported", "dynamic shape operator: aten.nonzero.default; to enable, set", Stage.DYNAMO),
    ],
)  # fmt: skip
def test_what_other_machines_and_releases_say(cause: str, kind: str, message: str, stage: Stage) -> None:
    assert cause_of(kind, message, stage) == cause


@pytest.mark.parametrize(
    ("kind", "message", "stage"),
    [
        # torch asks for a report: it may be its own
        ("torch._dynamo.exc.Unsupported", "Missing bytecode handler\n  Hint: It may be possible to write Dynamo tracing rules "
         "for this code. Please report an issue to PyTorch if you encounter", Stage.DYNAMO),
        ("torch._dynamo.exc.Unsupported", "x\n  Hint: This graph break is fundamental\n  Hint: This is likely to be a Dynamo "
         "bug. Please report an issue to PyTorch.", Stage.DYNAMO),
        # an operator that raises under fake tensors, a compiler that cannot read what Inductor wrote, a lost file
        ("torch._dynamo.exc.TorchRuntimeError", "RuntimeError when making fake tensor call\n expected", Stage.DYNAMO),
        ("torch._dynamo.exc.Unsupported", "Operator does not support running with fake tensors\n  Developer debug context: "
         "unsupported operator: aten.foo.default", Stage.DYNAMO),
        ("torch._dynamo.exc.Unsupported", "unsupported operator: aten.foo.default (see https://docs.google.com/x)", Stage.DYNAMO),
        ("torch._dynamo.exc.Unsupported", "dynamic shape operator: aten.foo.default; please report an issue to PyTorch",
         Stage.DYNAMO),
        ("torch._inductor.exc.CppCompileError", "error: 'tmp4' was not declared in this scope", Stage.INDUCTOR),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/tmp/torchinductor_a/c.so'", Stage.INDUCTOR),
        # the compiler's own mistake about devices, dtypes and sizes
        ("RuntimeError", "Expected all tensors to be on the same device", Stage.INDUCTOR),
        ("RuntimeError", "expected m1 and m2 to have the same dtype, but got: float != double", Stage.AOT_AUTOGRAD),
        ("RuntimeError", "Trying to backward through the graph a second time", Stage.AOT_AUTOGRAD),
        ("torch._dynamo.exc.UserError", "Could not guard on data-dependent expression u0 > 3\nCaused by: y = g(x)  # a.py:1 in "
         "f (_decomp/decompositions.py:10 in g)", Stage.DYNAMO),
        ("torch._dynamo.exc.InternalTorchDynamoError", "This graph break is fundamental", Stage.DYNAMO),
        ("RuntimeError", "A compilation subprocess exited unexpectedly", Stage.INDUCTOR),
    ],
)  # fmt: skip
def test_what_may_be_a_bug_is_none(kind: str, message: str, stage: Stage) -> None:
    assert cause_of(kind, message, stage) is None


def test_a_graph_break_counts_only_where_fullgraph_was_asked_for() -> None:
    message = "Call to `torch._dynamo.graph_break()`\n  Hint: Remove it."
    assert cause_of("Unsupported", message, Stage.DYNAMO) == "graph_break_fullgraph"
    assert cause_of("Unsupported", message, Stage.DYNAMO, (CompileCall(None),)) is None


def test_a_builtin_that_talks_is_the_programs_though_torch_asks_for_a_report() -> None:
    said = (
        "Failed to trace builtin operator\n  Explanation: Dynamo does not know how to trace builtin operator `{}` with argument "
        "types ['str'] (has_kwargs False)\n  Hint: Please report an issue to PyTorch.\n\n  Developer debug context: builtin"
    )
    assert cause_of("torch._dynamo.exc.Unsupported", said.format("print"), Stage.DYNAMO) == "graph_break_fullgraph"
    assert cause_of("torch._dynamo.exc.Unsupported", said.format("sorted"), Stage.DYNAMO) is None


def test_the_page_of_the_graph_break_is_the_reference() -> None:
    page = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0025.html"
    found = known_cause(
        failed("Unsupported", f"Call to `torch._dynamo.graph_break()`\n please visit: {page}\n"),
        Stage.DYNAMO,
        FULLGRAPH,
    )
    assert found.reference == page


def test_the_cause_is_found_below_wrappers() -> None:
    inner = RaisedException("torch._inductor.exc.InvalidCxxCompiler", "No working C++ compiler found in x")
    for outer in (failed("InductorError", "E: x", inner=inner), failed("InductorError", "E: x", cause=inner)):
        found = known_cause(outer, Stage.INDUCTOR)
        assert found.id == "no_cxx_compiler"


def test_an_operator_of_the_programs_own_may_not_wait_while_it_is_recorded() -> None:
    """Where Inductor records an operation of torch's that waits, that is a bug."""
    said = "CUDA error: operation not permitted when stream is capturing\nSearch for ..."
    for file, cause in (("torch/_library/custom_ops.py", "cudagraph_operator_waits"), ("torch/_ops.py", None)):
        first = RaisedException("torch.AcceleratorError", said, frames=(Frame(f"/x/{file}", 382, "wrapped_fn", ""),))
        late = failed("torch.AcceleratorError", "CUDA error: operation failed due to a previous error", cause=first)
        found = known_cause(late, Stage.INDUCTOR)
        assert (found.id if found is not None else None) == cause


def test_a_first_call_within_a_recording_is_the_programs_matter() -> None:
    said = "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned."
    for file, cause in (("torch/_dynamo/convert_frame.py", "compiled_while_recorded"), ("torch/_ops.py", None)):
        inner = RaisedException("RuntimeError", said, frames=(Frame(f"/x/{file}", 2134, "__call__", ""),))
        found = known_cause(
            failed("BackendCompilerFailed", f"backend='inductor' raised:\nRuntimeError: {said}", inner=inner),
            Stage.INDUCTOR,
        )
        assert (found.id if found is not None else None) == cause


def test_memory_is_the_scripts_matter_only_without_the_compiler() -> None:
    full = Outcome(OutcomeKind.OOM, exception=RaisedException("torch.OutOfMemoryError", "CUDA out of memory."))
    found = known_cause(full, Stage.SCRIPT)
    assert found.id == "out_of_memory"
    assert known_cause(full, Stage.INDUCTOR) is None


CXX, NONE = "torch._inductor.config.cpp.cxx", "No working C++ compiler found in"


@pytest.mark.parametrize(
    ("kind", "message", "told"),
    [
        ("InvalidCxxCompiler", f"{NONE} {CXX}: (None, 'g++-4.4')", f"`g++-4.4`, which $CXX or `{CXX}` says"),
        ("InvalidCxxCompiler", f"{NONE} {CXX}: (None, 'g++')", "`g++`"),
        ("InvalidCxxCompiler", "Compiler: cl is not found.", "`cl`"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/opt/g++'", f"`/opt/g++`, which $CXX or `{CXX}` says"),
    ],
)  # fmt: skip
def test_the_cure_says_which_compiler_was_looked_for(kind: str, message: str, told: str) -> None:
    found = known_cause(failed(kind, message), Stage.INDUCTOR)
    assert found.cure.endswith(f"checks it. Torch looked for {told}.")


def test_the_machine_is_to_blame_for_what_no_program_can_mend() -> None:
    full = failed("OSError", "[Errno 28] No space left on device")
    assert lies_in_environment(full, Stage.INDUCTOR)
    assert not lies_in_environment(full, Stage.SCRIPT)  # the line that writes tells where
    assert not lies_in_environment(failed("Unsupported", "Data-dependent branching"), Stage.DYNAMO)
    assert not lies_in_environment(None, Stage.NONE)
    assert not any(row.statement for row in TABLE if row.environment)


def test_every_row_can_be_read() -> None:
    for row in TABLE:
        assert row.reference.startswith("https://") and row.explanation.endswith(".") and row.cure.endswith(".")
        assert row.says or row.kinds != (OutcomeKind.EXCEPTION,), "an exception is known by its text"


@pytest.mark.parametrize("row", [row for row in TABLE if row.statement], ids=lambda row: row.id)
def test_a_cure_that_is_one_line_says_that_line(row: Row) -> None:
    assert row.statement.text in row.cure
    assert importlib.util.find_spec(row.statement.module) is not None


def test_print_can_wait_and_what_asks_a_person_cannot() -> None:
    told = "Failed to trace builtin operator\n  Explanation: ... does not know how to trace builtin operator `{}`"
    rows = [known_row(failed("Unsupported", told.format(name)), Stage.DYNAMO, FULLGRAPH) for name in ("print", "input")]
    assert [row.id for row in rows if row] == ["graph_break_fullgraph"] * 2
    assert [bool(row.statement) for row in rows if row] == [True, False]
