"""Which failures are the same, and which are not: real texts of several torch releases, in pairs."""

import pytest
from failed_programs import (
    BACKEND,
    CPP,
    INDUCTOR,
    INTERNAL,
    LOWER,
    SITE,
    SUBPROC,
    TORCH_RUNTIME,
    UNSUPPORTED,
    failed,
    frame,
)
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
from triage.judge.signature import FailureSignature, signature_of
from triage.model.outcome import Outcome, RaisedException
from triage.model.stage import OutcomeKind

LOWERING_FRAME = ("torch/_inductor/lowering.py", "embedding")


def both(kind: str, *messages: str) -> tuple[FailureSignature, ...]:
    return tuple(failed(kind, message) for message in messages)


def died(detail: str, signal: str = "SIGABRT", kind: OutcomeKind = OutcomeKind.CRASH) -> FailureSignature:
    found = signature_of(Outcome(kind, exit_code=-6, signal=signal, detail=detail))
    assert found is not None
    return found


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
