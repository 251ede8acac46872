"""What a signature is made of: the telling part of a message, frames, and what is no part of a failure."""

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
from hypothesis import example, given
from hypothesis import strategies as st
from signature_texts import (
    ADVICE_NEW,
    ADVICE_OLD,
    backend_failed,
    cpp_compile,
    from_user_code,
    graph_break,
    lowering,
    subprocess_failed,
)

from triage.judge.likeness import same_failure
from triage.judge.naming import first_words, one_line
from triage.judge.signature import FailureSignature, is_user_frame, signature_of, torch_frame, user_frame
from triage.judge.skeleton import skeleton
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind

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


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789_", min_size=8, max_size=8))
@example("d_0x0x1p")
@example("0x7f3a2b")
@example("u0_s12ab")
def test_the_name_of_a_temporary_directory_is_no_part_of_a_failure(name: str) -> None:
    """As `tempfile` draws it."""
    text = "Failed to import /tmp/triage-{}/8/cache/ab/cab4.py\nSyntaxError: invalid syntax (cab4.py, line 37)"
    assert skeleton(text.format(name)) == skeleton(text.format("abcdefgh"))


def test_what_a_program_calls_two_inputs_is_not_what_fails() -> None:
    text = "not yet handled. input {} and input {} share storage but are not differentiable views of each other."
    own = text.format("0 (G['averaged']._parameters['w'])", "2 (list(L['model'].parameters())[0])")
    assert skeleton(own) == skeleton(text.format("1 (x)", "3 (x1)")) == text.format("N", "N")
    assert skeleton("input 0 (float) has another dtype") == "input N (float) has another dtype"


def test_which_function_made_what_was_changed_in_place_is_not_what_fails() -> None:
    """The same graph on an input that the program made, and on one that a script clones."""
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [3, 24]]{} is at version 1; expected version 0 instead. Hint: enable anomaly detection."
    )
    functions = ("CloneBackward0", "torch::autograd::CopyBackwards")
    texts = [text.format(""), *(text.format(f", which is output 0 of {name},") for name in functions)]
    assert len({skeleton(one) for one in texts}) == 1
    other = "[torch.FloatTensor [3, 24]], which is output 0 of CloneBackward0, is not what it was"
    assert "CloneBackward" in skeleton(other)


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


def test_whether_what_is_compared_has_one_element_is_not_what_fails() -> None:
    one, many = (
        failed("AssertionError", f"{what} are not close!\n\nExpected 0") for what in ("Scalars", "Tensor-likes")
    )
    assert same_failure(one, many)
    assert not same_failure(one, failed("AssertionError", "Tensor-likes are not equal!"))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("the cache evicted ['chat', 'code']", "the cache evicted ['mail']", True),
        ("the cache evicted ['chat', 'code']", "the cache evicted []", True),
        ("by name: {'a': 1, 'b': (2, None)}", "by name: {'c': 3}", True),
        ("the mask is [True, False]", "the mask is [False, False, True]", True),
        ("('left') differs", "('right') differs", False),  # what it calls a thing is no value
        ("the loss of 'left' differs", "the loss of 'right' differs", False),
    ],
)
def test_what_a_collection_holds_in_a_programs_own_words_is_a_value(left: str, right: str, same: bool) -> None:
    def raised(message: str, code: str) -> FailureSignature:
        own = Frame("/home/ann/train.py", 9, "main", code)
        found = signature_of(Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("ValueError", message, (own,))))
        assert found is not None
        return found

    assert same_failure(raised(left, "raise ValueError(told)"), raised(right, "raise ValueError(told)")) is same
    assert not same_failure(raised(left, "compiled(x)"), raised(right, "compiled(x)"))
