"""Errors of a GPU and its compilers, as torch 2.1 to 2.13 and Triton 2.1 to 3.6 write them: what tells, and what is chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from signature_texts import ADVICE_NEW, subprocess_failed

from triage.culprit.operation import subsystem_of
from triage.judge.device import is_gpus_own
from triage.judge.likeness import same_failure
from triage.judge.naming import one_line
from triage.judge.signature import FailureSignature, is_verdict, signature_of
from triage.model.graphcase import GraphCase
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage
from triage.probe.interpret import outcome_of
from triage.probe.launch import Exit
from triage.reduce.graph.starts import form_for
from triage.reduce.interface import Problem

SITE = "/opt/venv/lib/python3.12/site-packages"
INDUCTOR = "torch._inductor.exc.InductorError"
SUBPROC = "torch._inductor.compile_worker.subproc_pool.SubprocException"
TRITON = "triton.compiler.errors.CompilationError"
ADVICE = """
Search for `{name}' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
# As Inductor's kernels and those of ATen print it, once for each thread.
ON_DEVICE = "{file}:{line}: unknown: block: [{block},0,0], thread: [{thread},0,0] Assertion `{said}` failed.\n"
KERNEL = """at {line}:{column}:
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]

    tmp0 = tl.load(in_ptr{number} + (x{number}), None)
    tmp{number} = libdevice.foo(tmp0)
            ^"""
SEVEN = KERNEL.format(line=7, column=12, number=0)
OTHER = KERNEL.format(line=31, column=9, number=5)
NO_NAME = "NameError('tmp{} is not defined')"
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate {} GiB. GPU {} has a total capacity of {} GiB of which {} MiB is free. {}"
    "Including non-PyTorch memory, this process has 20.1 GiB memory in use. Of the allocated memory 19.50 GiB is allocated by "
    "PyTorch, {}and 100.50 MiB is reserved by PyTorch but unallocated."
)
OVERWRITTEN = (
    "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: {}. "
    "To prevent overwriting, clone the tensor outside of torch.compile()"
)
RESOURCES = "out of resource: {}, Required: {}, Hardware limit: {}. Reducing block sizes or `num_stages` may help."
NO_CONFIGS = "No valid triton configs."
PTXAS = """PTXAS error: Internal Triton PTX codegen error
`ptxas` stderr:
ptxas {file}, line {line}; error   : {said}
ptxas fatal   : Ptx assembly aborted due to errors

Repro command: {site}/triton/backends/nvidia/bin/ptxas -lineinfo -v --gpu-name=sm_75 {file} -o {file}.o
"""


def failed(kind: str, message: str, frame: str = "", function: str = "run", **more: object) -> FailureSignature:
    frames = (Frame("/home/ann/train.py", 3, "main"), *([Frame(f"{SITE}/{frame}", 9, function)] if frame else []))
    found = signature_of(Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message, frames, **more)))
    assert found is not None
    return found


def cuda(said: str, name: str = "cudaErrorAssert") -> str:
    return f"CUDA error: {said}{ADVICE.format(name=name)}"


def kernel_failed(reason: str) -> str:
    return f"{OTHER}\n{reason}"


def worker(*errors: str) -> str:
    """The text of a compile worker, whose error was raised from others."""
    start = 'Traceback (most recent call last):\n  File "/opt/triton/compiler/code_generator.py", line 1316, in call\n    x\n'
    chain = "\n\nThe above exception was the direct cause of the following exception:\n\n".join(
        f"{start}{TRITON}: {error}" for error in errors
    )
    return f"SubprocException: An exception occurred in a subprocess:\n\nName=triton_poi_fused_0\n{chain}\n{ADVICE_NEW}"


SAME = {
    "a name that a kernel lacks": (
        failed(TRITON, f"{SEVEN}\n{NO_NAME.format(3)}"),
        failed(TRITON, f"{OTHER}\n{NO_NAME.format(17)}"),
    ),
    "in this process and in a compile worker": (
        failed(TRITON, f"{SEVEN}\n{NO_NAME.format(3)}"),
        failed(INDUCTOR, f"SubprocException: {subprocess_failed(TRITON + ': ' + kernel_failed(NO_NAME.format(4)))}"),
    ),
    "in a function that the kernel calls": (
        failed(TRITON, SEVEN, cause=RaisedException("ValueError", "axis out of range")),
        failed(INDUCTOR, worker(f"{OTHER}\naxis out of range", SEVEN)),
    ),
    "no shared memory, told by Triton and by Inductor's launcher": (
        failed(INDUCTOR, f"NoTritonConfigsError: {NO_CONFIGS} OutOfResources: {RESOURCES.format('shared memory', 9, 8)}"),
        failed("RuntimeError", f"{NO_CONFIGS} OutOfMemoryError: out of resource: triton_mm Required: 7 Hardware limit:2"),
    ),
    "no shared memory, elsewhere": (
        failed("triton.runtime.errors.OutOfResources", RESOURCES.format("shared memory", 131074, 101376)),
        failed("triton.runtime.errors.OutOfResources", RESOURCES.format("shared memory", 147456, 232448)),
    ),
    "ptxas": (
        failed("triton.runtime.errors.PTXASError", PTXAS.format(file="/tmp/tmpa1.ptx", line=12, said="bad target", site=SITE)),
        failed("triton.runtime.errors.PTXASError", PTXAS.format(file="/x/tmpzz.ptx", line=9, said="bad target", site="/y")),
    ),
    "wherever it comes to light": (
        failed("torch.AcceleratorError", cuda("an illegal memory access was encountered"), "torch/cuda/__init__.py"),
        failed("torch.AcceleratorError", cuda("an illegal memory access was encountered"), "torch/_tensor_str.py"),
    ),
    "memory of the device": (
        failed("torch.OutOfMemoryError", OUT_OF_MEMORY.format(20.0, 0, 23.64, 21.5, "", "")),
        failed(
            "torch.OutOfMemoryError",
            OUT_OF_MEMORY.format(1.5, 1, 79.1, 2, "Process 123 has 1.2 GiB memory in use. ", "with 44 MiB in private pools, "),
        ),
    ),
    "an output that is overwritten": (
        failed("RuntimeError", OVERWRITTEN.format('File "/home/ann/bug.py", line 7, in my_model\n    y = torch.matmul(x, x)')),
        failed("RuntimeError", OVERWRITTEN.format("[Could not find stack trace]")),
    ),
    "another kernel of a template": (failed("KeyError", "triton_mm_17"), failed("KeyError", "triton_flex_attention_2")),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_the_same_failure(name: str) -> None:
    left, right = SAME[name]
    assert (left.exception_type, left.skeleton) == (right.exception_type, right.skeleton)
    assert same_failure(left, right) and left.fingerprint == right.fingerprint


DIFFERENT = {
    "another reason": (failed(TRITON, f"{SEVEN}\nNameError('a')"), failed(TRITON, f"{SEVEN}\nNameError('b')")),
    "another call in a kernel": (failed(TRITON, SEVEN), failed(TRITON, SEVEN.replace("foo", "bar"))),
    "another refusal of ptxas": (
        failed("triton.runtime.errors.PTXASError", PTXAS.format(file="/tmp/a.ptx", line=1, said="bad target", site="")),
        failed(
            "triton.runtime.errors.PTXASError", PTXAS.format(file="/tmp/a.ptx", line=1, said="bad operand", site="")
        ),
    ),
    "another resource": (
        failed("triton.runtime.errors.OutOfResources", RESOURCES.format("shared memory", 9, 8)),
        failed("triton.runtime.errors.OutOfResources", RESOURCES.format("tensor memory", 9, 8)),
    ),
    "another error of a kernel": (
        failed("torch.AcceleratorError", cuda("misaligned address")),
        failed("torch.AcceleratorError", cuda("device-side assert triggered")),
    ),
    "another call of cuBLAS": (
        failed("RuntimeError", "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa)`"),
        failed("RuntimeError", "CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasSgemm( handle, opa)`"),
    ),
    "an error that is raised where it is made": (
        failed("RuntimeError", "CUDA error: invalid argument", "torch/_inductor/runtime/triton_heuristics.py"),
        failed("RuntimeError", "CUDA error: invalid argument", "torch/cuda/graphs.py"),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_not_the_same_failure(name: str) -> None:
    left, right = DIFFERENT[name]
    assert not same_failure(left, right) and left.fingerprint != right.fingerprint


def test_where_a_kernel_is_built_is_chance() -> None:
    heuristics, text = "torch/_inductor/runtime/triton_heuristics.py", kernel_failed(NO_NAME.format(4))
    there = failed(SUBPROC, subprocess_failed(f"{TRITON}: {text}"), "torch/_inductor/async_compile.py", "get_result")
    assert there.innermost_frame == f"{heuristics}:precompile"
    assert same_failure(there, failed(TRITON, text, heuristics, "precompile"))


def test_whoever_waits_for_the_device_tells_of_it() -> None:
    torchs = failed("torch.AcceleratorError", cuda("device-side assert triggered"), "torch/cuda/__init__.py")
    launchers = failed(
        "RuntimeError", "Triton Error [CUDA]: device-side assert triggered", "torch/_inductor/runtime/a.py"
    )
    assert same_failure(torchs, launchers) and same_failure(launchers, torchs)
    assert not same_failure(failed("torch.AcceleratorError", cuda("misaligned address")), launchers)


@pytest.mark.parametrize(
    ("kind", "message", "line"),
    [
        (TRITON, kernel_failed("NameError('tmp3 is not defined')"), "CompilationError: NameError('tmp3 is not defined')"),
        (TRITON, SEVEN, "CompilationError: in the line: tmp0 = libdevice.foo(tmp0)"),
        (TRITON, "at 1:0: <source unavailable>\ninvalid name", "CompilationError: invalid name"),
        ("torch.AcceleratorError", cuda("misaligned address"), "AcceleratorError: CUDA error: misaligned address"),
        (
            "RuntimeError",
            "Internal Triton PTX codegen error: \nptxas fatal   : Value 'sm_86' is not defined for option 'gpu-name'\n",
            "RuntimeError: PTXAS error: Value 'sm_86' is not defined for option 'gpu-name'",
        ),
        (
            "triton.runtime.errors.PTXASError",
            "PTXAS error: `ptxas` raised SIGSEGV\n`ptxas` stderr:\n",
            "PTXASError: PTXAS error: `ptxas` raised SIGSEGV `ptxas` stderr:",
        ),
    ],
)  # fmt: skip
def test_the_telling_part(kind: str, message: str, line: str) -> None:
    assert one_line(failed(kind, message)) == line


def ended(kind: str, message: str, stderr: str, *, inner: bool = False) -> Outcome:
    error = RaisedException(kind, message)
    error = RaisedException(INDUCTOR, f"{kind}: {message}", inner=error) if inner else error
    return outcome_of(Exit(1, 3.0), AgentNotes(started=True, raised=(error,)), "", stderr)


def test_what_a_kernel_asserts_is_read_from_the_output() -> None:
    file = "/tmp/torchinductor_ann/k4/ck46uf2tjbfns332dtzd3q3m2mgw2hoguozdpq5bvqyjhntqiu23.py"
    printed = "".join(
        ON_DEVICE.format(file=file, line=30, block=7, thread=thread, said="index out of bounds: 0 <= tmp4 < 10")
        for thread in range(40)
    )
    first = ended("torch.AcceleratorError", cuda("device-side assert triggered"), printed)
    assert first.exception is not None
    second_line = "Assertion `index out of bounds: 0 <= tmp4 < 10` failed."
    assert first.exception.message == cuda(f"device-side assert triggered\n{second_line}")
    again = ON_DEVICE.format(file="unknown", line=0, block=0, thread=3, said="index out of bounds: 0 <= tmp17 < ks0")
    other = ON_DEVICE.format(
        file="IndexKernel.cu", line=91, block=0, thread=3, said='ind >= 0 && "index out of bounds"'
    )
    found = [
        signature_of(ended("RuntimeError", "Triton Error [CUDA]: device-side assert triggered", text))
        for text in (again, other)
    ]
    signature = signature_of(first)
    assert signature is not None and found[0] is not None and found[1] is not None
    assert one_line(signature) == f"AcceleratorError: CUDA error: device-side assert triggered {second_line}"
    assert same_failure(signature, found[0]) and not same_failure(signature, found[1])


def test_what_tritons_passes_refuse_is_read_from_the_output() -> None:
    printed = (
        "/tmp/torchinductor_ann/ab/cab.py:28:39: error: 'tt.dot' op expected the last dimension to match\n"
        "/tmp/torchinductor_ann/ab/cab.py:18:0: error: Failures have been detected while processing an MLIR pass pipeline\n"
    )
    found = ended("RuntimeError", "PassManager::run failed", printed, inner=True)
    assert found.exception is not None
    told = "PassManager::run failed\nerror: 'tt.dot' op expected the last dimension to match"
    assert found.exception.innermost().message == told
    assert ended("RuntimeError", "shapes differ", printed).exception == RaisedException("RuntimeError", "shapes differ")


def test_a_line_that_waits_for_the_device_gives_no_verdict() -> None:
    def raised(message: str) -> bool:
        return is_verdict(RaisedException("torch.AcceleratorError", message, phase="uncaught"))

    assert not raised(cuda("device-side assert triggered")) and raised("CUDA error: invalid argument")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (f"{NO_CONFIGS} OutOfMemoryError: out of resource: triton_mm Required: 9 Hardware limit:8", OutcomeKind.EXCEPTION),
        (f"{NO_CONFIGS} OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", OutcomeKind.OOM),
        ("Triton Error [CUDA]: out of memory", OutcomeKind.OOM),
        ("CUDA error: out of memory", OutcomeKind.OOM),
    ],
)  # fmt: skip
def test_want_of_memory_is_not_want_of_shared_memory(message: str, kind: OutcomeKind) -> None:
    assert ended("RuntimeError", message, "").kind is kind


@pytest.mark.parametrize(
    "line",
    [
        "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl",
        "python: /source/llvm-project/mlir/lib/IR/Types.cpp:126: Assertion `isIntOrFloat()' failed.",
    ],
)
def test_why_tritons_compiler_aborts(line: str) -> None:
    notes = AgentNotes(started=True, last_breadcrumb="compile graph 0/0")
    assert outcome_of(Exit(-6, 3.0), notes, "", f"loading\n{line}\n").detail == line


def test_what_the_compiler_of_a_launcher_lacks_is_read_from_the_output() -> None:
    command = (
        "Command '['/usr/bin/gcc', '/tmp/tmp1/main.c', '-O3', '-shared', '-fPIC']' returned non-zero exit status 1."
    )
    for printed, said in (
        (
            "/tmp/tmp1/main.c:5:10: fatal error: Python.h: No such file or directory",
            "fatal error: Python.h: No such file or directory",
        ),
        ("/usr/bin/ld: cannot find -lcuda: No such file or directory", "cannot find -lcuda"),
    ):
        found = ended("subprocess.CalledProcessError", command, f"{printed}\n", inner=True).exception
        assert found is not None and found.innermost().message == f"{command}\n{said}"


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        ("torch/_inductor/runtime/triton_heuristics.py:_precompile_config", "Triton kernels"),
        ("torch/_inductor/runtime/static_triton_launcher.py:load_kernel", "Triton kernels"),
        ("torch/_inductor/select_algorithm.py:create_no_valid_choices", "autotuning"),
        ("torch/_inductor/cudagraph_trees.py:run", "cudagraphs"),
        ("torch/_inductor/codegen/triton.py:store", "code generation"),
        ("torch/_inductor/runtime/compile_tasks.py:_reload_python_module", "code generation"),
        ("torch/_higher_order_ops/triton_kernel_wrap.py:identify_mutated_tensors", "the program's Triton kernels"),
        ("torch/_functorch/autograd_function.py:custom_function_call_vmap", "torch.func"),
        ("torch/_functorch/vmap.py:_process_batched_inputs", "torch.func"),
        ("torch/_functorch/_aot_autograd/collect_metadata_analysis.py:inner", "aot_autograd"),
        ("torch/_functorch/_aot_autograd/runtime_wrappers.py:runtime_wrapper", "runtime wrappers"),
        ("torch/_functorch/aot_autograd.py:aot_module_simplified", "aot_autograd"),
    ],
)
def test_the_part_that_is_named(frame: str, part: str) -> None:
    assert subsystem_of([frame]) == part


def test_a_graph_is_run_to_the_end_of_its_kernels_where_these_fail(tmp_path: Path) -> None:
    case = GraphCase("dynamo", (), (), ())
    for message, waits in ((cuda("device-side assert triggered"), True), ("bad operand", False)):
        signature = failed("RuntimeError", message)
        assert form_for(Problem(signature, Stage.INDUCTOR, "inductor", None, (case,), tmp_path), case).waits is waits


def test_a_graph_is_called_until_cuda_graphs_play_it_again(tmp_path: Path) -> None:
    case = GraphCase("dynamo", (), (), ())
    for frame, times in (("torch/_inductor/cudagraph_trees.py:_record", 3), ("torch/_inductor/graph.py:run", 1)):
        signature = replace(failed("RuntimeError", "bad operand"), frames=(frame,))
        problem = Problem(signature, Stage.INDUCTOR, "inductor", None, (case,), tmp_path)
        assert form_for(problem, case).times == times


@pytest.mark.parametrize(
    ("name", "message", "frame", "own"),
    [
        ("CompilationError", "at 3:4:\n    ^\nboom", "", True),
        ("OutOfResources", "out of resource: shared memory", "torch/_inductor/codecache.py:load", True),
        ("AcceleratorError", "CUDA error: device-side assert triggered", "", True),
        ("AssertionError", "", "torch/_inductor/codegen/triton.py:store", True),
        ("RuntimeError", "overwritten", "torch/_inductor/cudagraph_trees.py:run", True),
        ("AssertionError", "", "torch/_inductor/lowering.py:cat", False),
        ("RuntimeError", "Expected all tensors to be on the same device, cuda:0 and cpu", "", False),
    ],
)
def test_what_only_a_gpu_fails_with_is_not_sought_on_the_cpu(name: str, message: str, frame: str, own: bool) -> None:
    assert is_gpus_own(name, message, [frame] if frame else []) is own
