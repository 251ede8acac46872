"""Error texts in the formats of torch 2.1 to 2.15, for the signature's tests. Two of a kind differ in what must not matter."""

ADVICE_OLD = """

Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information


You can suppress this exception and fall back to eager by setting:
    import torch._dynamo
    torch._dynamo.config.suppress_errors = True
"""
ADVICE_NEW = """

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch). \
For even more developer context, set TORCH_LOGS="+dynamo"
"""


def from_user_code(file: str = "/home/ann/train.py", line: int = 12) -> str:
    return f'\n\nfrom user code:\n   File "{file}", line {line}, in forward\n    return self.head(x)\n'


def backend_failed(inner: str, message: str, advice: str = ADVICE_OLD) -> str:
    """BackendCompilerFailed: all releases; for Inductor's own errors up to 2.6."""
    return f"backend='inductor' raised:\n{inner}: {message}{advice}"


def lowering(inner: str, message: str, target: str = "aten.embedding.default", size: int = 1000) -> str:
    """LoweringException: the inner error, then a dump of the operator's arguments."""
    return (
        f"{inner}: {message}\n  target: {target}\n  args[0]: TensorBox(StorageBox(\n"
        f"    InputBuffer(name='arg{size % 7}_1', layout=FixedLayout('cpu', size=[{size}, 256], stride=[256, 1]))\n"
        f"  ))\n  args[1]: {size}"
    )


def cpp_compile(
    error: str,
    file: str = "/tmp/torchinductor_ann/pq/cpq2ycfuedi2l7vapafcpnr5ejm52dt45ervjuioexzimz7vx44y",
    line: int = 21,
) -> str:
    """CppCompileError: the compiler's command line, then its output, which may be a hundred kilobytes long."""
    notes = "\n".join(
        f"/usr/include/c++/12/bits/stl_algo.h:{number}:5: note: candidate: 'template<class _Tp> max(initializer_list<_Tp>)'"
        for number in range(230, 260)
    )
    return (
        f"C++ compile error\n\nCommand:\ng++ {file}.main.cpp -D TORCH_INDUCTOR_CPP_WRAPPER -O3 -o {file}.main.so\n\n"
        f"Output:\nIn file included from /opt/venv/lib/python3.11/site-packages/torch/include/ATen/cpu/vec/vec.h:4,\n"
        f"                 from {file}.main.cpp:1:\n{file}.main.cpp: In function 'void kernel(const float*, float*)':\n"
        f"{file}.main.cpp:{line}:58: error: {error}\n   {line} |     auto tmp3 = max_propagate_nan(tmp1, tmp2);\n{notes}\n"
    )


def subprocess_failed(error: str, name: str | None = "triton_poi_fused_add_0", prefix: str = "") -> str:
    """SubprocException: the traceback of a compile worker as text; the kernel's name since 2.9."""
    lines = [
        "An exception occurred in a subprocess:",
        "",
        *([f"Name={name}"] if name else []),
        "Traceback (most recent call last):",
        '  File "/opt/venv/lib/python3.11/site-packages/torch/_inductor/compile_worker/subproc_pool.py", line 337, in do_job',
        "    result = job()",
        '  File "/opt/venv/lib/python3.11/site-packages/triton/compiler/compiler.py", line 63, in __init__',
        "    assert isinstance(k, tuple)",
        "AssertionError",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        "Traceback (most recent call last):",
        '  File "/opt/venv/lib/python3.11/site-packages/torch/_inductor/runtime/triton_heuristics.py", line 244, in precompile',
        "    compiled_binary, launcher = self._precompile_config(",
        "                                ^^^^^^^^^^^^^^^^^^^^^^^^",
        error,
    ]
    return "\n".join(prefix + line for line in lines)


def graph_break(
    kind: str,
    explanation: str,
    context: str,
    hints: tuple[str, ...] = ("It may be possible to write Dynamo tracing rules.",),
) -> str:
    """Unsupported since 2.7 (torch/_dynamo/exc.py, format_graph_break_message)."""
    hint = "\n".join(f"  Hint: {text}" for text in hints)
    return (
        f"{kind}\n  Explanation: {explanation}\n{hint}\n\n  Developer debug context: {context}\n\n"
        " For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0088.html"
        f"{from_user_code()}{ADVICE_NEW}"
    )


def fake_tensor_old(op: str = "<built-in function add>", first: str = "(2, 3)", second: str = "(4,)") -> str:
    """TorchRuntimeError, 2.1 to 2.6."""
    return (
        f"Failed running call_function {op}(*(FakeTensor(..., size={first}), FakeTensor(..., size={second})), **{{}}):\n"
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1)"
        f"{from_user_code()}{ADVICE_OLD}"
    )


def fake_tensor_middle(
    op: str = "<built-in function add>", a: str = "3", arguments: str = "FakeTensor(..., size=(2, 3))"
) -> str:
    """TorchRuntimeError, 2.7 and newer."""
    return (
        f"Dynamo failed to run FX node with fake tensors: call_function {op}(*({arguments}, FakeTensor(..., size=(4,))), "
        f"**{{}}): got RuntimeError('The size of tensor a ({a}) must match the size of tensor b (4) "
        "at non-singleton dimension 1)')"
        f"{from_user_code()}{ADVICE_NEW}"
    )


def fake_tensor_new(op: str = "<built-in function add>") -> str:
    """TorchRuntimeError, 2.11 and newer: made of a graph break."""
    text = fake_tensor_middle(op).split(from_user_code())[0]
    return graph_break("RuntimeError when making fake tensor call", text, "", hints=())


def aborted(file: str, line: int, name: str, limit: str) -> str:
    """The telling line of a bounds check that failed inside an OpenMP region."""
    return f"  what():  kernel, {file}.main.cpp:{line}, index out of bounds: 0 <= {name} < {limit}"
