"""The query that looks for known issues: what is in it, what never is, and when there is none."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model.accuracy import Wrongness
from triage.model.own_code import Finding
from triage.model.report import Culprit, KnownCause, ReportSignature, ReportVerdict, TriageReport
from triage.model.stage import Stage, Symptom
from triage.report.duplicates import LIMIT, duplicates_of

HEAD = "repo:pytorch/pytorch is:issue "


def report(
    kind: str,
    message: str,
    *frames: str,
    op: str | None = None,
    symptom: Symptom = Symptom.EXCEPTION,
    stage: Stage = Stage.INDUCTOR,
    **changes: object,
) -> TriageReport:
    made = TriageReport(
        tool={},
        command=(),
        verdict=ReportVerdict(symptom, stage),
        signature=ReportSignature(kind, message, frames),
        culprit=Culprit(op) if op else None,
    )
    return replace(made, **changes)


def query(*given: str, private: tuple[str, ...] = (), **more: object) -> str | None:
    found = duplicates_of(report(*given, **more), private)
    assert found is None or found.query.startswith(HEAD)
    return found.query.removeprefix(HEAD) if found else None


# Errors as torch 2.13 raises them. The number is the issue that is about this bug; its thread was read for what of the query
# it has: the phrase in its title or text, or the names.
KNOWN = [
    (
        "#185575: the phrase in the title, the name in the title",
        report(
            "TypeError",
            "cannot determine truth value of Relational: (((2*s64 + 14)//s64))*(((2*s95 + 18)//s95)) > 25",
            "torch/_inductor/lowering.py:_adaptive_avg_pool2d",
            op="aten._adaptive_avg_pool2d.default",
        ),
        '("cannot determine truth value of Relational" OR _adaptive_avg_pool2d)',
    ),
    (
        "#194747: both in the text",
        report(
            "AssertionError",
            "aot_autograd() does not yet handle input mutations on views with different dtypes.",
            "torch/_functorch/_aot_autograd/runtime_wrappers.py:merge_view_inputs",
        ),
        '("not yet handle input mutations on views with different" OR merge_view_inputs)',
    ),
    (
        "#190275: the phrase in the title",
        report(
            "RuntimeError",
            "Complex dtype is not supported for isneginf, got dtype torch.complex64",
            "torch/__init__.py:_check_with",
            "torch/__init__.py:_check",
            "torch/_refs/__init__.py:isneginf",
            op="aten.nan_to_num",
        ),
        '("Complex dtype is not supported for isneginf" OR (isneginf nan_to_num))',
    ),
    (
        "#193265: phrase and operator in the title; many other errors have the phrase",
        report(
            "IndexError", "tuple index out of range", "torch/_inductor/fx_passes/post_grad.py:repl", op="aten.cumsum"
        ),
        '"tuple index out of range" (post_grad OR cumsum)',
    ),
    (
        "#188225: both in the title",
        report(
            "ValueError", "The argument 'nan' is not comparable.", "torch/utils/_sympy/functions.py:_new_args_filter"
        ),
        '"not comparable" (_new_args_filter OR ValueError)',
    ),
    (
        "#159245 (phrase in the title)",
        report(
            "CppCompileError",
            "C++ compile error: conflicting declaration \u2018auto at_BFloat16_tmp_acc1_vec\u2019",
            "torch/_inductor/cpp_builder.py:_run_compile_cmd",
        ),
        '"conflicting declaration" CppCompileError',
    ),
    (
        "#149732, #182328: the phrase in the text",
        report(
            "AssertionError",
            "expected size 5==5, stride 1==7 at dim=0\nError in op: torch.ops.corpus.rowsort.default",
            "torch/_inductor/output_code.py:__call__",
            op="corpus.rowsort.default",
        ),
        '"expected size" (assert_size_stride OR AssertionError)',
    ),
    (
        "#198364: all three words in the title",
        replace(
            report("AssertionError", "strides differ", op="aten.addr", symptom=Symptom.WRONG_RESULT),
            signature=ReportSignature("AssertionError", "my own words", wrong=Wrongness("strides", "output 0")),
        ),
        "addr (strides OR stride) compile",
    ),
]


@pytest.mark.parametrize(("why", "failure", "expected"), KNOWN, ids=[row[0] for row in KNOWN])
def test_the_words_of_errors_whose_issue_is_known(why: str, failure: TriageReport, expected: str) -> None:
    found = duplicates_of(failure)
    assert found.query == HEAD + expected, why


def test_the_address_asks_the_query() -> None:
    found = duplicates_of(KNOWN[0][1])
    parts = urlsplit(found.url)
    assert (parts.netloc, parts.path) == ("github.com", "/pytorch/pytorch/issues")
    assert parse_qs(parts.query) == {"q": [found.query]}


def test_what_has_no_message_is_asked_by_its_operator() -> None:
    crash = query("SIGSEGV", "run graph 17/0", op="aten.foo_bar.default", symptom=Symptom.CRASH)
    assert crash == "foo_bar (segfault OR crash OR SIGSEGV OR abort) compile"
    hang = query("hang", "lowering of the forward graph", op="aten.foo_bar", symptom=Symptom.HANG)
    assert hang == "foo_bar (hang OR hangs OR stuck OR timeout) compile"
    assert query("hang", "compile graph 0/0", symptom=Symptom.HANG) is None
    told = query("SIGABRT", "some telling words of the kernel", op="aten.foo_bar", symptom=Symptom.CRASH)
    assert told == '("some telling words of the kernel" OR foo_bar)'


def test_names_of_torch_alone() -> None:
    message = (
        "<built-in function getitem> is not an OpOverload"  # of #197094 and #197376, each with an operator of its own
    )
    assert query("AssertionError", message, op="aten._foreach_add_.Scalar") == (
        '"not an OpOverload" (_foreach_add OR AssertionError)'
    )
    assert query("KeyError", "'my_key'", "torch/_inductor/x.py:realize_hint") == "realize_hint KeyError"
    assert query("KeyError", "'my_key'", "torch/_inductor/x.py:call") is None


@pytest.mark.parametrize(
    "frame",
    [
        "utils.py:_wrap_graph_break_with_torch_runtime_err",
        "exc.py:raise_error",
        "exc.py:reraise_as_error",
        "utils.py:_get_fake_value_impl",
    ],
)
def test_a_function_that_only_passes_an_error_on_is_not_asked_for(frame: str) -> None:
    frames = (f"torch/_dynamo/{frame}", "torch/_dynamo/x.py:realize_hint")
    assert query("KeyError", "'my_key'", *frames, stage=Stage.DYNAMO) == "realize_hint KeyError"
    assert query("KeyError", "'my_key'", frames[0], stage=Stage.DYNAMO) is None


def test_a_name_that_is_an_everyday_word_is_not_asked_for_alone() -> None:
    assert query("RuntimeError", "Cannot view a tensor with shape (3, 4)", op="aten.view") == (
        '"Cannot view a tensor with shape"'
    )
    assert query("RuntimeError", "'x'", op="aten.view.default") == "view RuntimeError inductor"
    message = "Promotion for Float8 Types is not supported, attempted to promote Bool and Float8_e4m3fn"
    assert query("RuntimeError", message) == '"Promotion for Float8 Types is not supported"'
    message = "empty_strided not supported on quantized tensors yet see https://github.com/pytorch/pytorch/issues/74540"
    assert query("RuntimeError", message) == '"not supported on quantized tensors yet"'


def test_a_fake_call_is_about_what_it_wraps() -> None:
    message = (
        "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: call_function "
        "<built-in method frob>(*(FakeTensor(..., size=(3, 4)),), **{}): got RuntimeError('Sizes of tensors must match here')"
    )
    assert query("TorchRuntimeError", message, stage=Stage.DYNAMO) == '"Sizes of tensors must match here"'


@pytest.mark.parametrize(
    ("message", "phrase"),
    [
        (
            'InferenceMode::is_enabled() INTERNAL ASSERT FAILED at "Stubs.cpp":66, please report a bug to PyTorch. Expected this '
            "method to only be reached in inference mode. You should NOT call this method directly as native::_fw_primal.",
            "Expected this method to only be reached in inference",
        ),
        (
            "Pending unbacked symbols {u1, u2} not in returned outputs FakeTensor(..., size=(u0, 6)) ((6, 1), 0).\n"
            "Did you accidentally call new_dynamic_size() or item() more times than you needed to in your fake implementation?",
            "Pending unbacked symbols",
        ),
        ("x. Please use a plain tensor instead", "Please use a plain tensor instead"),  # there is nothing else
    ],
)
def test_what_has_failed_tells_more_than_what_to_do(message: str, phrase: str) -> None:
    assert query("TorchRuntimeError", message) == f'"{phrase}"'


def test_what_stands_behind_the_wish_for_a_report_tells() -> None:
    message = (
        'self.is_inference() INTERNAL ASSERT FAILED at "Stubs.cpp":66, please report a bug to PyTorch. Expected this method to '
        "only be reached in inference mode."
    )
    assert query("RuntimeError", message) == '"Expected this method to only be reached in inference"'
    assert (
        query("RuntimeError", "please file an issue at https://github.com/x. ", "torch/y.py:some_name")
        == "some_name RuntimeError"
    )


@pytest.mark.parametrize(
    "message",
    [
        "cannot find the value of secret_name in here",
        "cannot find the value of SecretName in here",
        "cannot find the value of 'secret' in here",
        'cannot find the value of "secret" in here',
        "cannot find the value of `secret` in here",
        "cannot find the value of <secret> in here",
        "cannot find the value of /home/secret/it in here",
        "cannot find the value of secret.it in here",
        "cannot find the value of secret7 in here",
        "cannot find the value of secret(3, 4) in here",
        "cannot find the value of mine in here",  # a function of the program
    ],
)
def test_names_of_the_program_end_a_phrase(message: str) -> None:
    found = query("RuntimeError", message, private=("mine",))
    assert found is not None and "find the value" in found
    assert "ecret" not in found and "mine" not in found and "7" not in found


def test_what_the_program_says_itself_is_not_asked() -> None:
    for whose in ("user", "backend", "custom_op"):
        assert query("MySecretError", "my words that nobody has", raised_in=whose) is None
    assert query("SystemExit", "exit status 1: another entry was evicted") is None
    assert query("MySecretError", "my words", "torch/_inductor/x.py:some_name", raised_in="user", op="mine.op") == (
        "some_name inductor"
    )


OWN = Finding("the kernel raises", "It does.", "Mend it.", "a.py:1")


@pytest.mark.parametrize(
    "changes",
    [
        {"stage": Stage.SCRIPT},
        {"stage": Stage.BACKEND},
        {"stage": Stage.NONE},
        {"symptom": Symptom.NONE},
        {"symptom": Symptom.ROUNDING},
        {"findings": (OWN,)},
        {"known_cause": KnownCause("x", "y", "z")},
        {"signature": None},
    ],
)
def test_no_query_for_what_is_no_bug_of_pytorch(changes: dict[str, object]) -> None:
    assert query("RuntimeError", "these words are very telling indeed", **changes) is None
    assert query("RuntimeError", "these words are very telling indeed") is not None


@given(
    st.text(max_size=600),
    st.lists(st.text(max_size=80).map(lambda name: f"torch/x.py:{name}"), max_size=3),
    st.one_of(st.none(), st.text(max_size=300).map("aten.{}".format)),
    st.sampled_from(Symptom),
)
def test_any_query_is_one_that_github_takes(message: str, frames: list[str], op: str | None, symptom: Symptom) -> None:
    found = duplicates_of(report("RuntimeError", message, *frames, op=op, symptom=symptom))
    if found is not None:
        assert len(found.query) <= LIMIT
        assert found.query.count('"') in (0, 2) and found.query.count("(") == found.query.count(")")
        outside = " ".join(found.query.split('"')[::2])
        assert sum(outside.split().count(word) for word in ("AND", "OR", "NOT")) <= 5
