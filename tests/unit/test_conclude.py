"""What the rungs showed, and what that means."""

from dataclasses import replace

import pytest
from rung_probes import INVALID, NAMES, OK, TOP, crashes, error, fails, handled, hangs, ladder, met_uncompiled, probe

from triage.locate.conclude import conclude, discount, expected_exceptions, face, not_to_blame, rung_that_shows
from triage.locate.ladder import ladder_for
from triage.model.accuracy import PHASE, TYPE, Wrongness
from triage.model.outcome import CompileCall, Frame, Outcome, RaisedException
from triage.model.report import ReportVerdict, TriageReport
from triage.model.rungs import LADDER, OWN_BACKEND
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe
from triage.stories.assemble import exit_code
from triage.stories.headline import summary_sentence


@pytest.mark.parametrize("lowest", range(1, 5))
def test_the_stage_is_that_of_the_lowest_rung_that_fails(lowest: int) -> None:
    found = ladder(*[OK] * lowest, *[fails()] * (5 - lowest))
    assert found.stage is LADDER[lowest].stage
    assert (found.failing, found.passing) == (LADDER[lowest], LADDER[lowest - 1])
    assert found.settled and found.monotone and found.symptom is Symptom.EXCEPTION


@pytest.mark.parametrize("compiled", [fails(), crashes(), hangs(), OK])
def test_a_script_that_fails_uncompiled_is_its_own_culprit_whatever_the_face(compiled: Probe) -> None:
    mistake = fails(RaisedException("IndexError", "index out of range in self"))
    found = ladder(mistake, compiled, compiled, compiled, fails() if compiled is OK else compiled)
    assert (found.stage, found.settled) == (Stage.SCRIPT, True)
    assert found.signature == mistake.signature  # its own face is reported, not what the compiler makes of it


def test_a_script_that_passes_has_nothing_to_report() -> None:
    found = ladder(OK, OK, OK, OK, OK)
    assert (found.stage, found.symptom, found.settled, found.monotone) == (Stage.NONE, Symptom.NONE, True, True)


def test_a_lower_rung_that_fails_alone_is_no_failure_of_the_script() -> None:
    found = ladder(OK, OK, OK, fails(), OK)
    assert (found.stage, found.symptom, found.settled, found.monotone) == (Stage.NONE, Symptom.NONE, True, False)
    assert ladder(fails(), OK, OK, OK, OK).stage is Stage.NONE  # compiled it passes where eager raises


def test_that_eager_alone_refuses_it_is_told() -> None:
    refused = fails(RaisedException("RuntimeError", "Expected p_in >= 0 && p_in <= 1 to be true, but got false."))
    compiled = replace(OK, notes=replace(OK.notes, compile_calls=(CompileCall("inductor", {}),)))
    assert summary_sentence(ladder(refused, OK, OK, OK, OK), compiled, None, None, refused) == (
        "The script passes, and fails without torch.compile, with RuntimeError: Expected p_in >= 0 && p_in <= 1 to be true, "
        "but got false: compiled code may lack a check that eager has."
    )


def test_a_rung_above_the_lowest_failing_one_that_passes_is_told() -> None:
    found = ladder(OK, OK, fails(), OK, fails())
    assert (found.stage, found.settled, found.monotone) == (Stage.AOT_AUTOGRAD, True, False)


def test_a_rung_below_passing_ones_that_fails_in_another_way_is_not_to_blame() -> None:
    other = fails(RaisedException("ConnectionError", "no route", (Frame("/home/ann/train.py", 3, "main"),)))
    for trouble in (other, probe(Outcome(OutcomeKind.HANG, detail="run graph 0/0"))):
        found = ladder(OK, trouble, OK, OK, fails())
        assert (found.stage, found.settled, found.monotone) == (Stage.INDUCTOR, True, False)
    assert ladder(OK, other, fails(), fails(), fails()).stage is Stage.DYNAMO  # everything above it fails too
    assert ladder(OK, other, INVALID, INVALID, fails()).stage is Stage.DYNAMO


def test_the_failure_is_reported_as_the_person_saw_it() -> None:
    """The same bug may look otherwise on a lower rung."""
    low, top = fails(RaisedException("NotImplementedError", "in eager mode")), crashes()
    found = ladder(OK, OK, low, low, top)
    assert (found.stage, found.symptom, found.signature) == (Stage.AOT_AUTOGRAD, Symptom.CRASH, top.signature)
    said = summary_sentence(found, top, None)
    assert said.startswith(
        "`eager` passes, `aot_eager` is the first backend that fails, with NotImplementedError: in eager mode; "
    )
    assert said.endswith("the script as it is fails with SIGSEGV while running compiled code.")
    assert "as it is" not in summary_sentence(ladder(OK, OK, top, top, top), top, None)
    assert (
        face(low, found.signature) == "other"
        and face(top, found.signature) == "same"
        and face(OK, found.signature) is None
    )


def test_nothing_is_settled_before_the_rung_below_has_passed() -> None:
    assert not ladder(None, None, None, None, fails()).settled
    assert not ladder(OK, None, None, None, fails()).settled
    assert not ladder(OK, OK, OK, INVALID, fails()).settled
    assert ladder(None, None, None, OK, fails()).settled
    assert not ladder(None, None, None, None, None).settled


def test_a_failure_that_does_not_come_back_has_a_rate() -> None:
    found = ladder(OK, OK, OK, OK, [fails(), OK, OK, fails(), OK])
    assert (found.symptom, found.runs, found.failures, found.stage) == (Symptom.NONDETERMINISTIC, 5, 2, Stage.INDUCTOR)
    alike = ladder(OK, OK, fails(), fails(), [fails(), INVALID])
    assert (alike.symptom, alike.runs, alike.failures) == (Symptom.EXCEPTION, 3, 3)


def test_a_script_whose_check_depends_on_random_numbers_is_not_the_compilers_fault() -> None:
    found = not_to_blame(ladder(OK, OK, OK, fails(), fails()))
    assert (found.stage, found.symptom, found.random_check) == (Stage.NONE, Symptom.NONDETERMINISTIC, True)


def test_the_scripts_own_backend() -> None:
    call = CompileCall("strict_backend", custom_backend=True)
    rungs, top = ladder_for([call])
    assert rungs == (*LADDER, OWN_BACKEND) and top == 5
    seen = {name: [OK] for name in NAMES}
    assert conclude(rungs, top, {**seen, OWN_BACKEND.name: [fails()]}).stage is Stage.BACKEND
    assert conclude(rungs, top, {**seen, OWN_BACKEND.name: [OK]}).stage is Stage.NONE
    lower = {**seen, "aot_eager": [fails()], OWN_BACKEND.name: [fails()]}
    assert conclude(rungs, top, lower).stage is Stage.AOT_AUTOGRAD


@pytest.mark.parametrize(
    ("backends", "top"),
    [(["eager"], 1), (["aot_eager"], 2), ([None], 4), (["inductor", None], 4), (["eager", "inductor"], 4), ([], 4)],
)
def test_the_ladder_ends_where_the_script_stands(backends: list[str | None], top: int) -> None:
    rungs, found = ladder_for([CompileCall(backend) for backend in backends])
    assert (found, len(rungs)) == (top, top + 1)


# -- exceptions that the program handles itself ------------------------------------------------------------------------


def test_a_handled_exception_of_the_compiler_is_a_failure() -> None:
    found = ladder(OK, OK, OK, OK, handled(error()))
    assert (found.stage, found.symptom) == (Stage.INDUCTOR, Symptom.EXCEPTION)


def test_one_that_the_uncompiled_program_meets_too_is_none() -> None:
    expected = RaisedException("ValueError", "batch 3 has no labels")
    found = ladder(met_uncompiled(expected), *[handled(expected)] * 4)
    assert (found.stage, found.symptom) == (Stage.NONE, Symptom.NONE)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "torch._dynamo.exc.TorchRuntimeError",
            "Dynamo failed to run FX node with fake tensors: call_function <built-in function add>(*(FakeTensor(...),), "
            "**{}): got RuntimeError('The size of tensor a (2) must match the size of tensor b (3))')",
        ),
        (
            "torch._dynamo.exc.Unsupported",
            "Observed exception\n  Explanation: Dynamo found no exception handler.\n  Hint: x\n\n  Developer debug context: "
            "raised exception RuntimeError(['The size of tensor a (2) must match the size of tensor b (3)'])",
        ),
    ],
)
def test_dynamo_may_wrap_what_the_program_expects_in_its_own_words(kind: str, message: str) -> None:
    expected = RaisedException("RuntimeError", "The size of tensor a (2) must match the size of tensor b (3)")
    assert ladder(met_uncompiled(expected), *[handled(RaisedException(kind, message))] * 4).symptom is Symptom.NONE


def _out_of_range(message: str, *inner: Frame, kind: str = "IndexError", phase: str = "call") -> RaisedException:
    to_call = (
        Frame("serve.py", 31, "search"),
        Frame("/site-packages/torch/_dynamo/eval_frame.py", 1166, "compile_wrapper"),
    )
    return RaisedException(kind, message, (*to_call, *inner), phase=phase)


def test_what_a_compiler_says_in_other_words_at_a_call_that_the_program_guards_is_expected() -> None:
    eager = met_uncompiled(_out_of_range("index out of range in self", Frame("serve.py", 20, "forward")))
    decomposed = _out_of_range(
        "index 99 is out of bounds for dimension 0 with size 50", Frame("serve.py", 18, "forward")
    )
    raised = error("RuntimeError", "index out of bounds: 0 <= tmp7 < 50L")
    assert ladder(eager, OK, OK, handled(decomposed), fails(raised)).stage is Stage.INDUCTOR
    for other in (
        _out_of_range("index 99 is out of bounds", kind="RuntimeError"),
        _out_of_range("index 99 is out of bounds", phase="compile"),
        replace(_out_of_range("index 99 is out of bounds"), frames=(Frame("serve.py", 32, "search", "best(ids)"),)),
    ):
        assert ladder(eager, OK, OK, handled(other), fails(raised)).stage is Stage.DECOMP_PARTITION
    twice = handled(decomposed, replace(decomposed, message="index 3 is out of bounds"))
    assert ladder(eager, OK, OK, twice, fails(raised)).stage is Stage.DECOMP_PARTITION
    assert len(expected_exceptions({"uncompiled": [eager, eager]})) == 1  # two runs of the one


def test_a_short_message_is_not_found_in_every_other() -> None:
    found = ladder(
        met_uncompiled(RaisedException("KeyError", "'w'")), *[handled(RaisedException("TypeError", "no 'w' here"))] * 4
    )
    assert found.stage is Stage.DYNAMO


def test_the_news_among_expected_exceptions_is_what_counts() -> None:
    expected, news = RaisedException("ValueError", "batch 3 has no labels"), error("RuntimeError", "lowering failed")
    found = ladder(met_uncompiled(expected), met_uncompiled(expected), OK, OK, handled(expected, news))
    assert found.stage is Stage.INDUCTOR
    assert found.outcome.exception.message == "lowering failed"


def test_a_status_after_an_expected_exception_has_a_reason_of_its_own() -> None:
    expected = RaisedException("ValueError", "batch 3 has no labels")
    found = ladder(met_uncompiled(expected), OK, OK, OK, handled(expected, code=1))
    assert found.stage is Stage.INDUCTOR
    assert (found.signature.exception_type, found.signature.message) == ("SystemExit", "exit status 1")


def test_a_crash_is_never_discounted() -> None:
    expected = RaisedException("ValueError", "batch 3 has no labels", swallowed=True)
    crash = probe(Outcome(OutcomeKind.CRASH, exit_code=-11, signal="SIGSEGV", exception=expected), expected)
    assert discount(crash, expected_exceptions({"uncompiled": [met_uncompiled(expected)]})) is crash


# -- what a failure says about itself -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symptom", "stage", "complete", "interrupted", "code"),
    [
        (Symptom.EXCEPTION, Stage.DYNAMO, True, False, 0),
        (Symptom.NONDETERMINISTIC, Stage.INDUCTOR, True, False, 0),
        (Symptom.NONE, Stage.NONE, True, False, 1),
        (Symptom.NONDETERMINISTIC, Stage.NONE, True, False, 1),
        (Symptom.EXCEPTION, Stage.SCRIPT, True, False, 3),
        (Symptom.HANG, Stage.SCRIPT, False, False, 3),
        (Symptom.EXCEPTION, Stage.DYNAMO, False, False, 5),
        (Symptom.NONE, Stage.NONE, False, False, 5),
        (Symptom.EXCEPTION, Stage.DYNAMO, False, True, 130),
        (Symptom.EXCEPTION, Stage.SCRIPT, False, True, 130),
    ],
)
def test_exit_codes(symptom: Symptom, stage: Stage, complete: bool, interrupted: bool, code: int) -> None:
    report = TriageReport({}, (), ReportVerdict(symptom, stage), complete=complete)
    assert exit_code(report, interrupted) == code


def test_a_reproducer_shows_what_the_program_showed() -> None:
    """A check of the program's own fails with Inductor, where AOTAutograd alone raises something else."""
    check, other = error("AssertionError", "too far"), error("RuntimeError", "storage too small")
    seen = {"uncompiled": [OK], "eager": [OK], "aot_eager": [fails(other)], "inductor": [fails(check)]}
    found = conclude(LADDER, TOP, seen)
    assert (found.stage, rung_that_shows(found, seen).name) == (Stage.AOT_AUTOGRAD, "inductor")
    alike = {**seen, "aot_eager": [fails(check)]}
    assert rung_that_shows(conclude(LADDER, TOP, alike), alike).name == "aot_eager"


def compared(output: str, told: str) -> Probe:
    """A run in which comparing told this output to be wrong."""
    message, wrong = f"{output} of a compiled graph: {told}", Wrongness("requires_grad", output)
    error = RaisedException(TYPE, message, phase=PHASE, wrong=wrong)
    return probe(Outcome(OutcomeKind.WRONG_RESULT, exception=error))


def test_another_value_that_is_wrong_below_is_told_with_what_is_wrong_of_it() -> None:
    """A gradient that is lost with Inductor; the lower backend gives a detached output one."""
    lost, made, again = (
        compared(output, told)
        for output, told in (
            ("output 0", "requires_grad is True without a grad_fn compiled, True in eager"),
            ("output 2", "requires_grad is True compiled, False in eager"),
            ("output 1", "requires_grad is True without a grad_fn compiled, True in eager"),
        )
    )
    seen = {
        "uncompiled": [OK],
        "eager": [OK],
        "aot_eager": [OK],
        "aot_eager_decomp_partition": [made],
        "inductor": [lost],
    }
    found = conclude(LADDER, TOP, seen)
    assert found.stage is Stage.DECOMP_PARTITION
    assert (
        "first backend that fails, with a wrong result: output 2 of a compiled graph: requires_grad is True compiled, False"
        in (summary_sentence(found, lost, None))
    )
    on_graph = replace(lost, on="graph")  # it was asked for that
    assert conclude(LADDER, TOP, {**seen, "aot_eager_decomp_partition": [made, on_graph]}).there == made.signature
    assert conclude(LADDER, TOP, {**seen, "aot_eager_decomp_partition": [again]}).there is None
    assert conclude(LADDER, TOP, {**seen, "aot_eager_decomp_partition": [made, lost]}).there is None


def test_an_error_that_names_another_operation_below_is_another_for_a_reproducer_and_told() -> None:
    """A subclass that nothing handles stops whatever operation is the first to be called with it: not the same on each rung."""
    divides, solves = (error("TypeError", f"Multiple dispatch failed for '{name}'") for name in ("div", "solve"))
    seen = {"uncompiled": [OK], "eager": [OK], "aot_eager": [fails(divides)], "inductor": [fails(solves)]}
    found = conclude(LADDER, TOP, seen)
    assert (found.stage, rung_that_shows(found, seen).name) == (Stage.AOT_AUTOGRAD, "inductor")
    assert found.there is not None and "div" in found.there.message
    assert "`aot_eager` is the first backend that fails, with TypeError: Multiple dispatch failed for 'div'" in (
        summary_sentence(found, fails(solves), None)
    )
