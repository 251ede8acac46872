"""Good, bad or skip: texts as torch 2.1 to 2.15 print them, and what must never be called bad."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.bisect.missing import missing_feature
from triage.bisect.verdict import Face, alike, faces_of, judge
from triage.model.accuracy import Check
from triage.model.bisection import Standing
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind

GOOD, BAD, SKIP = Standing.GOOD, Standing.BAD, Standing.SKIP
TORCH = "/env/lib/python3.11/site-packages/torch"
USER = Frame("/home/me/script.py", 7, "f", "n = x.sum().item()")
OTHER_LINE = Frame("/home/me/script.py", 9, "f", "y = g(x)")


def notes(*raised: RaisedException, torch: str | None = "2.8.0") -> AgentNotes:
    return AgentNotes(started=True, torch_version=torch, raised=raised)


def in_torch(type_name: str, message: str, file: str = "_inductor/ir.py", function: str = "realize") -> RaisedException:
    return RaisedException(type_name, message, (USER, Frame(f"{TORCH}/{file}", 3, function)))


def by_dynamo(message: str, place: Frame = USER, type_name: str = "torch._dynamo.exc.Unsupported") -> RaisedException:
    frames = (Frame(f"{TORCH}/_dynamo/variables/tensor.py", 3, "call_method"),)
    return RaisedException(type_name, message, frames, user_code=(place,))


def check(message: str, code: str, line: int = 5) -> RaisedException:
    return RaisedException("AssertionError", message, (Frame("/home/me/script.py", line, "<module>", code),))


def outcome(exception: RaisedException, kind: OutcomeKind = OutcomeKind.EXCEPTION, code: int = 1) -> Outcome:
    return Outcome(kind, exit_code=code, exception=exception)


def face(exception: RaisedException, kind: OutcomeKind = OutcomeKind.EXCEPTION) -> Face:
    return faces_of(outcome(exception, kind), notes())[0]


SAME = {
    "the same": (in_torch("ValueError", "bad 3"), in_torch("ValueError", "bad 17")),
    "a renamed frame": (in_torch("ValueError", "bad"), in_torch("ValueError", "bad", "_inductor/lowering.py", "lower")),
    "reworded by Dynamo": (
        by_dynamo("Tensor.item"),
        by_dynamo("Unsupported Tensor.item() call with capture_scalar_outputs=False"),
    ),
    "reworded altogether, at one line": (
        by_dynamo("torch.* op returned non-Tensor bool call_method is_inference"),
        by_dynamo("Encountered tensor.is_inference() during tracing"),
    ),
    "BackendCompilerFailed became InductorError": (
        RaisedException(
            "torch._dynamo.exc.BackendCompilerFailed",
            "backend='inductor' raised:\nLoweringException: AssertionError: \n  target: aten.embedding.default",
            (Frame(f"{TORCH}/_inductor/lowering.py", 3, "embedding"),),
        ),
        RaisedException(
            "torch._inductor.exc.InductorError",
            "LoweringException: AssertionError: \n  target: aten.embedding.default",
            (Frame(f"{TORCH}/_inductor/lowering.py", 9, "embedding"),),
        ),
    ),
    "the recompile limit, renamed": (
        by_dynamo("cache_size_limit reached", type_name="torch._dynamo.exc.CacheLimitExceeded"),
        by_dynamo("recompile_limit reached", type_name="torch._dynamo.exc.FailOnRecompileLimitHit"),
    ),
    "a check with other numbers": (
        check("wrong: 17", "assert a == b, f'wrong: {a}'"),
        check("wrong: 3", "assert a == b, f'wrong: {a}'", 8),
    ),
    "a bare assertion": (check("", "assert a == b"), check("", "assert a == b", 8)),
    "a check with another text": (check("4 of 9", "assert ok, text()"), check("all", "assert ok, text()")),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_failure_is_known_across_releases(name):
    left, right = SAME[name]
    assert alike(face(left), face(right)) is not None
    assert alike(face(right), face(left)) is not None
    assert judge(outcome(left), notes(), face(right)).standing is BAD


OTHERS = {
    "another type": (in_torch("ValueError", "bad"), in_torch("KeyError", "bad")),
    "another message of a common type": (
        in_torch("RuntimeError", "strides differ"),
        in_torch("RuntimeError", "no such op x"),
    ),
    "another graph break": (by_dynamo("Tensor.item"), by_dynamo("call_function len", OTHER_LINE)),
    "another check": (check("wrong", "assert a == b"), check("also bad", "assert c == d")),
    "another bare assertion": (check("", "assert a == b"), check("", "assert c == d")),
    "no message, elsewhere": (
        in_torch("AssertionError", ""),
        in_torch("AssertionError", "", "_dynamo/guards.py", "check"),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_failure_is_skipped_with_its_face(name):
    left, right = OTHERS[name]
    judged = judge(outcome(left), notes(), face(right))
    assert judged.standing is SKIP
    assert judged.error.startswith("another failure: ")


def test_a_reworded_failure_says_so():
    left, right = SAME["reworded by Dynamo"]
    judged = judge(outcome(right), notes(), face(left))
    assert judged.note == "worded otherwise than where it was first seen (Unsupported: Tensor.item)"


def test_a_failed_comparison_is_one_failure_whatever_its_kind():
    code = "torch.testing.assert_close(a, b)"
    left = face(check("Tensor-likes are not close!", code), OutcomeKind.WRONG_RESULT)
    assert alike(left, face(check("Tensor-likes are not close!", code))) == ""


def test_a_pass_is_good():
    assert judge(Outcome(OutcomeKind.OK, exit_code=0), notes(), face(in_torch("ValueError", "bad"))).standing is GOOD


def test_what_the_program_handles_itself_is_no_failure():
    handled = RaisedException("RuntimeError", "expected scalar type Half", (USER,), phase="call", swallowed=True)
    found = Outcome(OutcomeKind.EXCEPTION, exit_code=0, exception=handled)
    wanted = face(check("compiled accepted", "raise AssertionError"))
    assert judge(found, notes(handled), wanted).standing is GOOD
    assert judge(found, notes(handled), None).standing is GOOD


def test_a_swallowed_failure_that_is_looked_for_is_bad():
    from dataclasses import replace

    swallowed = replace(in_torch("ValueError", "bad"), swallowed=True)
    found = Outcome(OutcomeKind.EXCEPTION, exit_code=0, exception=swallowed)
    assert judge(found, notes(swallowed), face(in_torch("ValueError", "bad"))).standing is BAD


def test_at_the_bad_end_any_failure_is_the_one():
    judged = judge(outcome(in_torch("ValueError", "bad")), notes(), None)
    assert judged.standing is BAD
    assert judged.face.line() == "ValueError: bad"


def crash(signal: str, detail: str) -> Outcome:
    return Outcome(OutcomeKind.CRASH, exit_code=-11, signal=signal, detail=detail)


def test_crashes_are_known_by_their_signal():
    wanted = faces_of(crash("SIGSEGV", "Segmentation fault"), notes())[0]
    assert judge(crash("SIGSEGV", "Fatal Python error"), notes(), wanted).standing is BAD
    assert judge(crash("SIGABRT", "what(): index out of bounds"), notes(), wanted).standing is SKIP


def test_a_hang_is_one_and_a_slow_version_of_another_failure_is_not():
    hang = Outcome(OutcomeKind.HANG, seconds=60.0, detail="compile graph 0/0")
    assert judge(hang, notes(), faces_of(hang, notes())[0]).standing is BAD
    judged = judge(hang, notes(), face(in_torch("ValueError", "bad")))
    assert (judged.standing, judged.error) == (SKIP, "another failure: no end within 60 s (compile graph 0/0)")


def test_a_torch_that_cannot_be_imported_is_skipped():
    broken = RaisedException("OSError", "libcudart.so.12: cannot open shared object file", (USER,))
    judged = judge(outcome(broken), notes(torch=None), None)
    assert judged.standing is SKIP
    assert (
        judged.error == "it failed before torch was imported: OSError: libcudart.so.12: cannot open shared object file"
    )


def test_a_command_that_cannot_be_started_is_skipped():
    assert judge(Outcome(OutcomeKind.INVALID, detail="no such file"), notes(), None).standing is SKIP


MISSING = {
    "an attribute": (
        "AttributeError",
        "module 'torch.library' has no attribute '_scoped_library'. Did you mean: '_del_library'?",
        "torch.library._scoped_library does not exist in this version",
    ),
    "a module": (
        "ModuleNotFoundError",
        "No module named 'torch.nn.attention.flex_attention'",
        "torch.nn.attention.flex_attention does not exist in this version",
    ),
    "a name": (
        "ImportError",
        "cannot import name 'set_stance' from 'torch.compiler' (/env/lib/torch/compiler/__init__.py)",
        "torch.compiler.set_stance does not exist in this version",
    ),
    "another package": (
        "ModuleNotFoundError",
        "No module named 'einops'",
        "the module einops is not installed; name its package with --with",
    ),
    "an operator": (
        "AttributeError",
        "'_OpNamespace' 'aten' object has no attribute '_new_thing'",
        "the operator aten._new_thing does not exist in this version",
    ),
    "a setting": (
        "AttributeError",
        "torch._dynamo.config.recompile_limit does not exist",
        "torch._dynamo.config.recompile_limit does not exist in this version",
    ),
    "a method": (
        "AttributeError",
        "'Tensor' object has no attribute 'mH2'",
        "Tensor.mH2 does not exist in this version",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_a_version_does_not_have_makes_it_untestable(name):
    type_name, message, said = MISSING[name]
    asked = RaisedException(type_name, message, (Frame("/home/me/script.py", 2, "<module>", "import torch"),))
    assert missing_feature(asked) == said
    judged = judge(outcome(asked), notes(), face(in_torch("ValueError", "bad")))
    assert (judged.standing, judged.error) == (SKIP, said)
    assert judge(outcome(asked), notes(), None).standing is SKIP  # also at the bad end


def test_an_argument_that_torch_does_not_take_is_missing_but_a_mistake_of_the_program_is_not():
    message = "compile() got an unexpected keyword argument 'name'"
    torch_call = RaisedException("TypeError", message, (Frame("s.py", 2, "<module>", "torch.compile(f, name='x')"),))
    own_call = RaisedException("TypeError", message, (Frame("s.py", 2, "<module>", "compile(f, name='x')"),))
    assert missing_feature(torch_call) == "compile() does not take name= in this version"
    assert missing_feature(own_call) is None
    message = "scaled_dot_product_attention() got an unexpected keyword argument 'enable_gqa'"
    functional = Frame("s.py", 9, "f", "return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)")
    said = "scaled_dot_product_attention() does not take enable_gqa= in this version"
    assert missing_feature(RaisedException("TypeError", message, (functional,))) == said


@pytest.mark.parametrize(
    ("message", "function", "said"),
    [
        ("Unexpected optimization option new, known options are ['a']", "apply_options", "option new"),
        ("Unrecognized mode=max, should be one of: default", "apply_mode", "mode max"),
        ("Unrecognized mode=max, should be one of: default", "list_mode_options", "mode max"),
    ],
)
def test_an_option_or_mode_that_a_version_does_not_have_makes_it_untestable(message, function, said):
    asked = Frame("/e/site-packages/torch/__init__.py", 9, function, "raise RuntimeError(")
    missing = missing_feature(RaisedException("RuntimeError", message, (asked,)))
    assert missing == f"torch.compile has no {said} in this version"


def test_a_missing_attribute_inside_torch_is_a_failure_of_torch():
    inside = in_torch("AttributeError", "module 'torch._inductor' has no attribute 'metrics'")
    assert missing_feature(inside) is None
    assert judge(outcome(inside), notes(), face(inside)).standing is BAD


def test_a_result_that_is_wrong_in_another_way_is_another_failure() -> None:
    own = check("Tensor-likes are not close!", "torch.testing.assert_close(out, ref)")
    values, nan = (face(replace(own, check=Check(kind))) for kind in ("values", "nan"))
    assert alike(values, nan) is None and alike(values, values) == ""
    assert alike(face(own), nan) == ""  # what was compared is not known of an older torch


def test_an_assert_in_a_lowering_is_told_as_that() -> None:
    """The line after the wrapper names the operator, and is no message of the program's."""
    message = "LoweringException: AssertionError: \n  target: aten.embedding.default\n  args[0]: TensorBox()"
    raised = RaisedException("torch._inductor.exc.InductorError", message, phase="compile")
    (face,) = faces_of(Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=raised), AgentNotes(True))
    assert face.line() == "AssertionError in the lowering of aten.embedding.default"
