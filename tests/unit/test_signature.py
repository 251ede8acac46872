"""Which failures are the same: real texts of several torch releases, in pairs."""

import pytest
from signature_texts import (
    ADVICE_NEW,
    ADVICE_OLD,
    aborted,
    backend_failed,
    cpp_compile,
    fake_tensor_middle,
    fake_tensor_new,
    fake_tensor_old,
    from_user_code,
    graph_break,
    lowering,
    subprocess_failed,
)

from triage.judge.equivalences import EQUIVALENCES, TORN
from triage.judge.likeness import is_torn, same_face, same_failure
from triage.judge.signature import (
    FailureSignature,
    first_words,
    is_user_frame,
    one_line,
    signature_of,
    torch_frame,
    user_frame,
)
from triage.judge.skeleton import skeleton
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind

LOWERING_FRAME = ("torch/_inductor/lowering.py", "embedding")
SITE = "/opt/venv/lib/python3.11/site-packages"


def frame(file: str, function: str, line: int = 7) -> Frame:
    return Frame(file, line, function)


def failed(
    kind: str, message: str, *frames: tuple[str, str], prefix: str = SITE, line: int = 100, **more: object
) -> FailureSignature:
    """The signature of an exception raised inside torch (paths below site-packages), called from a user's script."""
    trace = (
        frame("/home/ann/train.py", "main", line),
        *(frame(f"{prefix}/{file}", name, line) for file, name in frames),
    )
    found = signature_of(Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message, trace, **more)))
    assert found is not None
    return found


def both(kind: str, *messages: str) -> tuple[FailureSignature, ...]:
    return tuple(failed(kind, message) for message in messages)


def died(detail: str, signal: str = "SIGABRT", kind: OutcomeKind = OutcomeKind.CRASH) -> FailureSignature:
    found = signature_of(Outcome(kind, exit_code=-6, signal=signal, detail=detail))
    assert found is not None
    return found


BACKEND, INDUCTOR = "torch._dynamo.exc.BackendCompilerFailed", "torch._inductor.exc.InductorError"
LOWER, CPP = "torch._inductor.exc.LoweringException", "torch._inductor.exc.CppCompileError"
UNSUPPORTED, INTERNAL = "torch._dynamo.exc.Unsupported", "torch._dynamo.exc.InternalTorchDynamoError"
TORCH_RUNTIME, SUBPROC = (
    "torch._dynamo.exc.TorchRuntimeError",
    "torch._inductor.compile_worker.subproc_pool.SubprocException",
)

# (type, message) -> (type at the bottom, first telling line)
TOLD = [
    (
        BACKEND,
        backend_failed("TypeError", "'>=' not supported between instances of 'complex' and 'float'"),
        "TypeError",
        "'>=' not supported between instances of 'complex' and 'float'",
    ),
    (
        BACKEND,
        backend_failed(
            "GuardOnDataDependentSymNode", "Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4)."
        ),
        "GuardOnDataDependentSymNode",
        "Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4).",
    ),
    (
        BACKEND,
        backend_failed("LoweringException", lowering("AssertionError", "")),
        "AssertionError",
        "target: aten.embedding.default",
    ),
    (
        INDUCTOR,
        f"LoweringException: {lowering('AssertionError', '')}{ADVICE_NEW}",
        "AssertionError",
        "target: aten.embedding.default",
    ),
    (
        INDUCTOR,
        f"TypeError: \ncannot determine truth value of Relational: s0 < 4{ADVICE_NEW}",
        "TypeError",
        "cannot determine truth value of Relational: s0 < 4",
    ),
    (
        INDUCTOR,
        f"ValueError: The argument 'nan' is not comparable.{ADVICE_NEW}",
        "ValueError",
        "The argument 'nan' is not comparable.",
    ),
    (
        LOWER,
        lowering("NotImplementedError", "could not find kernel for aten.lerp.Scalar at dispatch key CPU"),
        "NotImplementedError",
        "could not find kernel for aten.lerp.Scalar at dispatch key CPU",
    ),
    (
        INDUCTOR,
        f"CppCompileError: {cpp_compile('no matching function for call to clamp(int, float)')}",
        "CppCompileError",
        "C++ compile error: no matching function for call to clamp(int, float)",
    ),
    (
        CPP,
        "C++ compile error\n\nCommand:\ng++ x.cpp\n\nOutput:\n"
        "/usr/bin/ld: cannot find -lgomp\ncollect2: error: ld returned 1 exit status",
        "CppCompileError",
        "C++ compile error: cannot find -lgomp",
    ),
    (
        CPP,
        "C++ compile error\n\nCommand:\ng++ x.cpp\n\nOutput:\n"
        "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
        "CppCompileError",
        "C++ compile error: Killed signal terminated program cc1plus",
    ),
    (
        INDUCTOR,
        f"SubprocException: {subprocess_failed('torch._inductor.exc.CppCompileError: C++ compile error')}",
        "CppCompileError",
        "C++ compile error",
    ),
    (
        SUBPROC,
        subprocess_failed(
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072", name=None
        ),
        "OutOfResources",
        "out of resource: shared memory, Required: 131072",
    ),
    (
        INTERNAL,
        f"AttributeError: 'NoneType' object has no attribute 'co_name'{from_user_code()}{ADVICE_NEW}",
        "AttributeError",
        "'NoneType' object has no attribute 'co_name'",
    ),
    (
        INTERNAL,
        f"'NoneType' object has no attribute 'co_name'{from_user_code()}{ADVICE_OLD}",
        "InternalTorchDynamoError",
        "'NoneType' object has no attribute 'co_name'",
    ),
    (INTERNAL, f"\n{from_user_code()}{ADVICE_OLD}", "InternalTorchDynamoError", ""),
    (
        UNSUPPORTED,
        f"call_method UserDefinedObjectVariable(Meter) add [TensorVariable()] {{}}{from_user_code()}{ADVICE_OLD}",
        "Unsupported",
        "call_method UserDefinedObjectVariable(Meter) add [TensorVariable()] {}",
    ),
    (
        UNSUPPORTED,
        graph_break(
            "Missing bytecode handler",
            "Dynamo does not know the instruction `CHECK_EG_MATCH`.",
            "CHECK_EG_MATCH with args ()",
        ),
        "Unsupported",
        "Missing bytecode handler",
    ),
    (
        "AssertionError",
        "expected size 4==4, stride 1==9 at dim=1; expected size 3==3, stride 12==3 at dim=2\nThis error most often comes "
        "from a incorrect fake (aka meta) kernel for a custom op.\nUse torch.library.opcheck to test your custom op.",
        "AssertionError",
        "expected size 4==4, stride 1==9 at dim=1; expected size 3==3, stride 12==3 at dim=2",
    ),
    (UNSUPPORTED, f"cache_size_limit reached{ADVICE_OLD}", "RecompileLimitExceeded", "cache_size_limit reached"),
]


@pytest.mark.parametrize(("kind", "message", "bottom", "line"), TOLD, ids=lambda value: value[:40].split("\n")[0])
def test_the_telling_part_is_found(kind: str, message: str, bottom: str, line: str) -> None:
    found = failed(kind, message)
    assert found.exception_type == bottom
    assert (found.message.splitlines() or [""])[0] == line
    assert (
        found.wrapper == ("RecompileLimitExceeded" if "cache_size" in message else kind.rsplit(".", 1)[-1])
        or found.wrapper == "Unsupported"
    )


@pytest.mark.parametrize("advice", [ADVICE_OLD, ADVICE_NEW, from_user_code() + ADVICE_NEW])
def test_advice_is_no_part_of_a_failure(advice: str) -> None:
    assert failed("RuntimeError", "unsupported dtype" + advice) == failed("RuntimeError", "unsupported dtype")


def test_a_long_compiler_output_tells_one_line() -> None:
    found = failed(INDUCTOR, "CppCompileError: " + cpp_compile("'tmp12' was not declared in this scope") * 20)
    assert found.message == "C++ compile error: 'tmp12' was not declared in this scope"


OTHER_CACHE = "/tmp/triage-8x/cache/l6/cl6aamljo3pfke5rkfpwxq2765om2uwudxtexf6x5ekbcp4r224w"

SAME = {
    "wrapped by 2.6 and by 2.7": (
        failed(BACKEND, backend_failed("LoweringException", lowering("AssertionError", "")), LOWERING_FRAME),
        failed(INDUCTOR, f"LoweringException: {lowering('AssertionError', '', size=64)}{ADVICE_NEW}", LOWERING_FRAME),
    ),
    "named by its object and by its text": (
        failed(
            INDUCTOR,
            "",
            inner=RaisedException("TypeError", "bad index", (frame(f"{SITE}/torch/_inductor/ir.py", "f"),)),
        ),
        failed(INDUCTOR, "TypeError: bad index", ("torch/_inductor/ir.py", "f")),
    ),
    "other shapes": both(
        "RuntimeError",
        "mat1 and mat2 shapes cannot be multiplied (4x8 and 16x2)",
        "mat1 and mat2 shapes cannot be multiplied (64x128 and 256x32)",
    ),
    "other ranks": both(
        "RuntimeError",
        "shape '[2, 3]' is invalid for input of size 7",
        "shape '[2, 3, 4]' is invalid for input of size 100",
    ),
    "symbolic and static shapes": both(
        "RuntimeError",
        "The expanded size of the tensor (s0) must match. Target sizes: [s0, 4]. Tensor sizes: [3]",
        "The expanded size of the tensor (s27) must match. Target sizes: [s27, s3]. Tensor sizes: [5]",
    ),
    "torch.Size": both(
        "AssertionError", "got torch.Size([2, 3]) and torch.Size([3])", "got torch.Size([1]) and torch.Size([3, 4, 5])"
    ),
    "other strides, in more dimensions": both(
        "AssertionError",
        "expected size 4==4, stride 1==9 at dim=1",
        "expected size 5==5, stride 1==7 at dim=0; expected size 7==7, stride 5==1 at dim=1"
        "\nThis error most often comes from x",
    ),
    "other line numbers and install prefix": (
        failed("KeyError", "buf3", ("torch/_inductor/scheduler.py", "fuse"), line=10),
        failed(
            "KeyError",
            "buf12",
            ("torch/_inductor/scheduler.py", "fuse"),
            line=99,
            prefix="/home/bob/envs/x/lib/python3.10/dist-packages",
        ),
    ),
    "a torch built in place": (
        failed("KeyError", "buf3", ("torch/_inductor/scheduler.py", "fuse")),
        failed("KeyError", "buf3", ("torch/_inductor/scheduler.py", "fuse"), prefix="/data/users/ann/pytorch"),
    ),
    "other C++ names, cache and locale": both(
        CPP,
        cpp_compile("'tmp12' was not declared in this scope; did you mean 'tmp1'?"),
        cpp_compile("\u2018tmp3\u2019 was not declared in this scope; did you mean \u2018tmp2\u2019?", OTHER_CACHE, 99),
    ),
    "other generated kernel": both(
        "NameError",
        "name 'triton_poi_fused_add_0' is not defined",
        "name 'triton_red_fused_mean_relu_7' is not defined",
    ),
    "other buffers": both("NameError", "name 'buf0' is not defined", "name 'buf12' is not defined"),
    "other sizes' names": both("NameError", "name 's0' is not defined", "name 's77' is not defined"),
    "other node names": both(
        "RuntimeError",
        "Node add_3 was invalid, but is output of primals_2",
        "Node add was invalid, but is output of arg1_1",
    ),
    "worker with and without a kernel's name": both(
        SUBPROC,
        subprocess_failed("RuntimeError: no kernel for size 64", "triton_poi_fused_0"),
        subprocess_failed("RuntimeError: no kernel for size 128", None),
    ),
    "with and without a rank's prefix": both(
        SUBPROC,
        subprocess_failed("RuntimeError: no kernel", prefix=""),
        subprocess_failed("RuntimeError: no kernel", prefix="[rank3]: "),
    ),
    "fake tensors, 2.6 and 2.7": both(TORCH_RUNTIME, fake_tensor_old(), fake_tensor_middle()),
    "fake tensors, 2.7 and 2.13": both(TORCH_RUNTIME, fake_tensor_middle(), fake_tensor_new()),
    "fake tensors, a parameter and an input": both(
        TORCH_RUNTIME,
        fake_tensor_middle(a="s27: hint = 3", arguments="FakeTensor(..., size=(s27,))"),
        fake_tensor_middle(
            a="s27",
            arguments="Parameter(FakeTensor(..., device='cuda:1', size=(64,), dtype=torch.float16,\n  requires_grad=True))",
        ),
    ),
    "recompile limit under its names": (
        failed("torch._dynamo.exc.CacheLimitExceeded", "cache_size_limit reached"),
        failed("torch._dynamo.exc.FailOnRecompileLimitHit", "Hard failure due to fullgraph=True"),
    ),
    "a value that Dynamo knows by its type alone": both(
        UNSUPPORTED,
        graph_break("Logger", "", "method: log.info, args: [ConstantVariable(int: 7)], kwargs: {}"),
        graph_break("Logger", "", "method: log.info, args: [LazyVariableTracker(<class 'int'>), B(1)], kwargs: {}"),
    ),
    "recompile limit as a graph break": (
        failed(
            UNSUPPORTED,
            graph_break(
                "Dynamo recompile limit exceeded",
                "Dynamo attempted to recompile too often (8).",
                "Limit type: recompile_limit",
            ),
        ),
        failed(
            "torch._dynamo.exc.RecompileLimitExceeded",
            "recompile_limit reached with one_graph=True. Excessive recompilations can degrade performance",
        ),
    ),
    "data-dependent guards of other symbols": both(
        BACKEND,
        backend_failed(
            "GuardOnDataDependentSymNode",
            "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1))."
            "  (Size-like symbols: none)\n\nATTENTION: x",
        ),
        backend_failed(
            "GuardOnDataDependentSymNode",
            "Could not guard on data-dependent expression Eq(u7, 3) (unhinted: Eq(u7, 3))."
            "  (Size-like symbols: u7, u8)\n\nCaused by: y",
        ),
    ),
    "memory": both(
        "torch.OutOfMemoryError",
        "CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 23.65 GiB of which 312.00 MiB is free.",
        "CUDA out of memory. Tried to allocate 20.00 MiB. "
        "GPU 1 has a total capacity of 139.80 GiB of which 1.12 GiB is free.",
    ),
    "values printed by a check": both(
        "AssertionError", "(2.75, tensor([4., 4.]))", "(-1e-05, tensor([4.25, nan, 1.0000e+02]))"
    ),
    "values in rows": both(
        "AssertionError", "tensor([[1., 2.],\n        [3., 4.]]) is not close", "tensor([0.5, 1.5, 2.5]) is not close"
    ),
    "paths with spaces": both(
        "FileNotFoundError",
        "[Errno 2] No such file or directory: '/home/ann/my models/a b/weights.pt'",
        "[Errno 2] No such file or directory: '/tmp/x/weights.pt'",
    ),
    "objects at other addresses": both(
        "RuntimeError", "unhashable <function f at 0x7f23a4b1>", "unhashable <function f at 0x55d0cafe>"
    ),
    "a suggestion of a newer Python": both(
        "AttributeError",
        "module 'torch.library' has no attribute '_scoped_library'",
        "module 'torch.library' has no attribute '_scoped_library'. Did you mean: '_del_library'?",
    ),
    "abort: other kernel, name and bound": (
        died(
            aborted(
                "/tmp/torchinductor_ann/l6/cl6aamljo3pfke5rkfpwxq2765om2uwudxtexf6x5ekbcp4r224w", 37, "tmp11", "10L"
            )
        ),
        died(aborted(OTHER_CACHE, 12, "tmp3", "ks0")),
    ),
    "crash without a word: seen in the probe and in the fork server": (
        died("run graph 0/0", "SIGSEGV"),
        died("run of the forward graph 0/0", "SIGSEGV"),
    ),
    "hang without a word: seen in the probe and in the fork server": (
        died("inductor compiles forward graph 1/0", "", OutcomeKind.HANG),
        died("lowering of the forward graph 0/0", "", OutcomeKind.HANG),
    ),
    "killed for memory: by the system and by the fork server": (
        died("killed by SIGKILL (out of memory?), last seen: compile graph 0/0", "SIGKILL", OutcomeKind.OOM),
        died("more than 4096 MiB, last seen: lowering of the forward graph 0/0", "SIGKILL", OutcomeKind.OOM),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_failure(name: str) -> None:
    left, right = SAME[name]
    assert left.skeleton == right.skeleton
    assert same_failure(left, right)
    assert left.fingerprint == right.fingerprint


def test_a_check_of_a_kernel_inside_and_outside_of_a_parallel_region() -> None:
    text = aborted(OTHER_CACHE, 12, "tmp3", "4L")
    crash, error = died(text), failed("RuntimeError", text.split("what():  ")[1])
    assert same_failure(crash, error) and same_failure(error, crash)
    assert not same_failure(died(text, "SIGSEGV"), error)
    assert not same_failure(crash, failed("IndexError", text.split("what():  ")[1]))
    assert not same_failure(died("what():  bad_alloc"), failed("RuntimeError", "bad_alloc"))


def test_a_row_of_equivalences_says_why_and_is_narrow() -> None:
    for row in EQUIVALENCES:
        more = f"{row.says}more"
        one = row.one_says or more
        assert (row.one != row.other or row.one_says) and row.says and ("#" in row.why or "torch/" in row.why)
        assert row.holds(row.one, one, row.other, more) and row.holds(row.other, more, row.one, one)
        assert not row.holds(row.one, one, row.other, "else") and not row.holds(row.one, "else", row.other, more)


def test_an_index_is_out_of_bounds_whichever_kernel_checks_it() -> None:
    by_aten = failed("RuntimeError", "index 10 is out of bounds for dimension 0 with size 10")
    compiled = failed("RuntimeError", aborted(OTHER_CACHE, 12, "tmp3", "4L").split("what():  ")[1])
    assert same_failure(by_aten, compiled) and same_failure(compiled, by_aten)
    assert not same_failure(by_aten, failed("RuntimeError", "kernel, /tmp/x/y.cpp:3, another check"))
    assert not same_failure(failed("IndexError", "index 10 is out of bounds for dimension 0 with size 10"), compiled)


def test_a_message_that_several_threads_tore_apart() -> None:
    text = aborted(OTHER_CACHE, 12, "tmp3", "4L")
    torn = died(TORN)
    assert is_torn(torn) and not is_torn(died(text))
    for other in (died(text), failed("RuntimeError", text.split("what():  ")[1])):
        assert same_failure(torn, other) and same_failure(other, torn)
    assert same_face(torn, died(text)) and same_failure(torn, died(TORN))
    assert not same_failure(torn, died("what():  bad_alloc")) and not same_failure(torn, died(text, "SIGSEGV"))


DIFFERENT = {
    "another lowering that says nothing": both(
        LOWER,
        lowering("AssertionError", "", "aten.embedding.default"),
        lowering("AssertionError", "", "aten.bucketize.Tensor"),
    ),
    "another operator in the text": both(
        LOWER,
        lowering("NotImplementedError", "could not find kernel for aten.lerp.Scalar"),
        lowering("NotImplementedError", "could not find kernel for aten.renorm.default"),
    ),
    "another operator under fake tensors": both(
        TORCH_RUNTIME, fake_tensor_middle("<built-in function add>"), fake_tensor_middle("<built-in function mul>")
    ),
    "another missing attribute": both(
        INTERNAL,
        "AttributeError: 'NoneType' object has no attribute 'co_name'",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
    ),
    "another attribute, told in the context alone": both(
        UNSUPPORTED,
        graph_break(
            "Observed exception",
            "Dynamo found no handler.",
            "raised exception AttributeError([\"'Linear' object has no attribute 'w'\"])",
        ),
        graph_break(
            "Observed exception",
            "Dynamo found no handler.",
            "raised exception AttributeError([\"'Linear' object has no attribute 'scale'\"])",
        ),
    ),
    "another method, told in the context alone": both(
        UNSUPPORTED,
        graph_break("Logger", "", "method: log.info, args: [], kwargs: {}"),
        graph_break("Logger", "", "method: log.warning, args: [], kwargs: {}"),
    ),
    "other types of operands": both(
        UNSUPPORTED,
        graph_break("Builtin", "", "operator: lt [<class 'Tensor'>, <class 'Lock'>] False"),
        graph_break("Builtin", "", "operator: lt [<class 'Tensor'>, <class 'File'>] False"),
    ),
    "another operator, told in the context alone": both(
        UNSUPPORTED,
        graph_break(
            "Operator does not support running with fake tensors", "", "unsupported operator: shop.scale.default"
        ),
        graph_break(
            "Operator does not support running with fake tensors", "", "unsupported operator: shop.shift.default"
        ),
    ),
    "another method": both(
        UNSUPPORTED,
        graph_break("Unsupported method call", "Dynamo cannot trace method `add` of class `Meter`", ""),
        graph_break("Unsupported method call", "Dynamo cannot trace method `sub` of class `Meter`", ""),
    ),
    "another frame": (
        failed("AssertionError", "", ("torch/_inductor/ir.py", "realize")),
        failed("AssertionError", "", ("torch/_inductor/ir.py", "get_size")),
    ),
    "in torch and in the program": (
        failed("AssertionError", "", ("torch/_inductor/ir.py", "realize")),
        failed("AssertionError", ""),
    ),
    "another type": (failed("TypeError", "bad operand"), failed("ValueError", "bad operand")),
    "another C++ error": both(
        CPP,
        cpp_compile("'tmp12' was not declared in this scope"),
        cpp_compile("no matching function for call to 'clamp'"),
    ),
    "a missing buffer and a missing size": both("NameError", "name 'buf0' is not defined", "name 's0' is not defined"),
    "a wrong size and a wrong stride": both(
        "AssertionError", "expected size 1==5, stride 1==1 at dim=0", "expected size 5==5, stride 1==7 at dim=0"
    ),
    "other dtypes": both(
        "RuntimeError",
        "expected m1 and m2 to have the same dtype, but got: float != c10::Half",
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    "another relation of data-dependent sizes": both(
        "GuardOnDataDependentSymNode",
        "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).",
        "Could not guard on data-dependent expression u0 > 1 (unhinted: u0 > 1).",
    ),
    "another worker's error": both(
        SUBPROC, subprocess_failed("RuntimeError: no kernel"), subprocess_failed("RuntimeError: bad kernel")
    ),
    "another signal": (died("run graph 0/0", "SIGSEGV"), died("run graph 0/0", "SIGFPE")),
    "compiling and running": (died("compile graph 0/0", "SIGSEGV"), died("run graph 0/0", "SIGSEGV")),
    "another abort": (
        died("what():  std::bad_alloc"),
        died("what():  kernel, /tmp/x/y.cpp:3, index out of bounds: 0 <= tmp1 < 4L"),
    ),
    "a crash and a hang": (died("compile graph 0/0"), died("compile graph 0/0", kind=OutcomeKind.HANG)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_not_the_same_failure(name: str) -> None:
    left, right = DIFFERENT[name]
    assert not same_failure(left, right)
    assert left.fingerprint != right.fingerprint


@pytest.mark.parametrize(
    ("file", "found"),
    [
        (f"{SITE}/torch/_inductor/ir.py", "torch/_inductor/ir.py:f"),
        ("/usr/lib/python3/dist-packages/torch/nn/functional.py", "torch/nn/functional.py:f"),
        ("C:\\py\\Lib\\site-packages\\torch\\_dynamo\\exc.py", "torch/_dynamo/exc.py:f"),
        (f"{SITE}/torch-2.1.0-py3.9-linux-x86_64.egg/torch/fx/graph.py", "torch/fx/graph.py:f"),
        ("/data/users/ann/pytorch/torch/_functorch/partitioners.py", "torch/_functorch/partitioners.py:f"),
        (f"{SITE}/scipy/_lib/array_api_compat/torch/_aliases.py", None),
        (f"{SITE}/deepspeed/runtime/torch/_dynamo/x.py", None),
        (f"{SITE}/torchvision/ops/boxes.py", None),
        ("/home/ann/torch/train.py", None),
        ("<eval_with_key>.3", None),
    ],
)
def test_frames_of_torch_are_known_by_their_place(file: str, found: str | None) -> None:
    assert torch_frame(frame(file, "f")) == found


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/ann/a directory/train.py", True),
        ("train.py", True),
        (f"{SITE}/torch/_inductor/ir.py", False),
        ("/data/users/ann/pytorch/torch/_inductor/ir.py", False),
        (f"{SITE}/transformers/models/llama.py", False),
        ("/usr/lib/python3.11/runpy.py", False),
        ("/tmp/triage-8x/cache/l6/cl6aamljo3pfke5rkfpwxq2765om2uwudxtexf6x5ekbcp4r224w.py", False),
        ("/tmp/torchinductor_ann/l6/cl6aamlj.py", False),
        ("<eval_with_key>.3", False),
    ],
)
def test_frames_of_the_program(file: str, expected: bool) -> None:
    assert is_user_frame(frame(file, "f")) is expected


def test_the_users_line_is_their_own_even_when_dynamo_went_on_into_torch() -> None:
    code = (frame("/home/ann/train.py", "forward", 31), frame(f"{SITE}/torch/nn/modules/linear.py", "forward", 125))
    found = user_frame(RaisedException(TORCH_RUNTIME, "x", user_code=code))
    assert (found.file, found.line) == ("/home/ann/train.py", 31)


def test_the_message_alone_is_never_enough() -> None:
    here = failed("RuntimeError", "x", ("torch/_dynamo/guards.py", "build"))
    assert not same_failure(here, failed("RuntimeError", "x", ("torch/_dynamo/source.py", "name")))


def test_frames_that_every_failure_shares_do_not_tell() -> None:
    shared = (("torch/_dynamo/eval_frame.py", "compile_wrapper"), ("torch/_ops.py", "__call__"))
    found = failed("RuntimeError", "x", shared[0], ("torch/_inductor/ir.py", "realize"), shared[1])
    assert found.innermost_frame == "torch/_inductor/ir.py:realize"
    assert failed("RuntimeError", "x", *shared).innermost_frame == "torch/_ops.py:__call__"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("exit status 17: no kernel for relu", "exit status 17: no kernel for relu", True),
        ("exit status 17: no kernel for relu", "exit status 1: no kernel for relu", False),
        ("exit status 1: off by 0.25", "exit status 1: off by 0.5", True),
        ("17", "1", False),
        ("3 of 4 differ", "1 of 4 differ", True),
        ("exit status 2: 3 of 4 differ", "exit status 2: 1 of 4 differ", True),
    ],
)
def test_the_status_that_a_program_ends_with_tells(left: str, right: str, same: bool) -> None:
    assert same_failure(failed("SystemExit", left), failed("SystemExit", right)) is same


def test_what_passed_has_no_signature() -> None:
    assert signature_of(Outcome(OutcomeKind.OK)) is None
    assert signature_of(Outcome(OutcomeKind.INVALID, detail="cancelled")) is None


def test_a_headline_names_files_and_not_where_they_lay():
    message = "no room for 0 <= tmp11 < 10L in /home/ann/proj/net.cpp:37, a/b or 1/2\nmore"
    found = FailureSignature(OutcomeKind.CRASH, "SIGABRT", "", message=message)
    assert one_line(found, 200) == "SIGABRT: no room for 0 <= tmp11 < 10L in net.cpp:37, a/b or 1/2 more"
    assert one_line(found, 20) == "SIGABRT: no room for 0 <=…"
    kernel = "kernel, /tmp/triage-x1/cache/tu/ctud.main.cpp:37, index out of bounds: 0 <= tmp11 < 10L"
    found = FailureSignature(OutcomeKind.EXCEPTION, "RuntimeError", "", message=kernel)
    assert one_line(found) == "RuntimeError: index out of bounds: 0 <= tmp11 < 10L"
    assert one_line(FailureSignature(OutcomeKind.HANG, "hang", "")) == "hang"


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("RuntimeError('pool exhausted, 2 of (3)')", "Observed exception RuntimeError: pool exhausted, 2 of (3)"),
        ("RuntimeError([\"'Linear' has no 'w'\"])", "Observed exception RuntimeError: 'Linear' has no 'w'"),
        ("ExceptionVariable(<class 'StopIteration'>)", "Observed exception ExceptionVariable(<class 'StopIteration'>)"),
    ],
)
def test_an_exception_that_dynamo_observed_is_told(raised: str, told: str):
    text = graph_break("Observed exception", "Dynamo found no exception handler.", f"raised exception {raised}")
    found = failed(UNSUPPORTED, text)
    assert first_words(found.message) == told
    assert one_line(found) == f"Unsupported: {told}"
    unexplained = failed(UNSUPPORTED, graph_break("Logger", "", "raised exception X"))
    assert first_words(unexplained.message) == "Logger"
    assert one_line(unexplained) == "Unsupported: Logger"


@pytest.mark.parametrize(
    ("first", "raised", "told"),
    [
        (
            "Caught ValueError in DataLoader worker process 1.\nOriginal ",
            "ValueError: no row\n",
            "no row (in DataLoader worker process 1)",
        ),
        ("Caught KeyError in replica 0 on device 0.\nOriginal ", "KeyError: 'x'\n", "'x' (in replica 0 on device 0)"),
        (
            "\n\n-- Process 0 terminated with the following error:\n",
            "a.b.MyError: no row\nmore\n",
            "MyError: no row (in process 0)",
        ),
        (
            "\n\n-- Process 1 terminated with the following error:\n",
            "AssertionError\n",
            "AssertionError (in process 1)",
        ),
    ],
)
def test_what_a_worker_raised_is_told(first: str, raised: str, told: str):
    text = f'{first}Traceback (most recent call last):\n  File "a.py", line 1, in f\n    go()\n    ^^^^\n{raised}'
    assert first_words(text) == told
    assert one_line(FailureSignature(OutcomeKind.EXCEPTION, "ValueError", "", message=text)) == f"ValueError: {told}"


def test_why_a_module_that_the_compiler_wrote_is_refused_is_told() -> None:
    text = "Failed to import /tmp/torchinductor_u/ab/cab4.py\nSyntaxError: invalid syntax (cab4.py, line 37)"
    assert first_words(text) == "SyntaxError: invalid syntax, in the generated code"


def test_what_a_program_calls_two_inputs_is_not_what_fails() -> None:
    text = "not yet handled. input {} and input {} share storage but are not differentiable views of each other."
    own = text.format("0 (G['averaged']._parameters['w'])", "2 (list(L['model'].parameters())[0])")
    assert skeleton(own) == skeleton(text.format("1 (x)", "3 (x1)")) == text.format("N", "N")
    assert skeleton("input 0 (float) has another dtype") == "input N (float) has another dtype"


def test_a_graph_within_the_message_is_not_what_fails() -> None:
    """torch/_functorch/_aot_autograd/functional_utils.py:assert_functional_graph."""
    text = "n=copy_, n.args[0]=view_1, placeholders={{arg1_1, arg0_1}}, graph=graph():\n    %{} : [num_users=1] = placeholder"
    assert failed("AssertionError", text.format("arg0_1") + "\n    %view : [num_users=1]") == failed(
        "AssertionError", text.format("arg0_1")
    )


def test_where_in_its_circle_a_recursion_meets_the_limit_is_chance() -> None:
    circle = [("torch/_dynamo/variables/base.py", "call_method"), ("torch/_dynamo/variables/user.py", "nb_index")] * 4
    texts = ("", " while calling a Python object", " in comparison", " while getting the str of an object")
    ends = ([], [("torch/_guards.py", "__hash__")], circle[:1], [])
    found = [
        failed("RecursionError", f"maximum recursion depth exceeded{text}", *circle, *end)
        for text, end in zip(texts, ends, strict=True)
    ]
    assert all(same_failure(found[0], other) for other in found[1:])
    other = failed("RecursionError", "maximum recursion depth exceeded", *[("torch/_inductor/ir.py", "realize")] * 9)
    assert not same_failure(found[0], other)


def test_how_a_size_was_computed_is_not_what_fails():
    long = (
        "cannot determine truth value of Relational: (((2*TruncToInt(0.6*ToFloat(s20)) + 18)//"
        "(TruncToInt(0.6*ToFloat(s20)))))*(((2*TruncToInt(0.6*ToFloat(s6)) + 18)//(TruncToInt(0.6*ToFloat(s6))))) > 4"
    )
    short = "cannot determine truth value of Relational: (((2*TruncToInt(0.6*ToFloat(s5)) + 18)//(s5)))**2 > 0.6"
    assert skeleton(long) == skeleton(short) == "cannot determine truth value of Relational: N > N"
    assert skeleton("mat1 and mat2 (4x8 and 3x2)") == "mat1 and mat2 (N and N)"


@pytest.mark.parametrize(
    ("explained", "plain"),
    [
        ("assert tensor(0.) > 0\n +  where tensor(0.) = <built-in method sum of Tensor object at 0x7f01>()", ""),
        ("assert [1, 2] == [1, 3]\n  \n  At index 1 diff: 2 != 3\n  Use -v to get more diff", ""),
        ("weights differ\nassert False\n +  where False = allclose(tensor([1.]), tensor([2.]))", "weights differ"),
        ("assert the same\n  by 3\nassert 3 == 4", "assert the same\nby 3"),
    ],
)
def test_what_pytest_adds_to_an_assert_is_no_part_of_a_failure(explained: str, plain: str) -> None:
    def raised(message: str, *runner: Frame, code: str = "assert a == b, told") -> FailureSignature:
        own = Frame("/home/ann/test_x.py", 9, "test_x", code)
        found = signature_of(
            Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", message, (*runner, own)))
        )
        assert found is not None
        return found

    pytests = frame(f"{SITE}/_pytest/python.py", "pytest_pyfunc_call")
    assert raised(explained, pytests).message == plain
    assert same_failure(raised(explained, pytests), raised(plain))
    assert raised(explained).message == explained
    assert raised(explained, pytests, code="raise AssertionError(told)").message == explained
